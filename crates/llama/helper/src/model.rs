//! Loads a GGUF file: model, context, vocabulary and chat format.

use crate::{
    answer::Generator,
    limits::{ALL_LAYERS, BATCH, MOST_THREADS},
    session::Session,
    vocabulary,
};
use llama_cpp_2::{
    LlamaBackendDevice, LlamaBackendDeviceType, LlamaCppError, LlamaModelLoadError, LogOptions,
    context::params::LlamaContextParams,
    list_llama_ggml_backend_devices,
    llama_backend::LlamaBackend,
    model::{LlamaModel, params::LlamaModelParams},
    send_logs_to_tracing,
    vocab::LlamaVocab,
};
use openagents_core::{CancellationToken, model::ModelError};
use openagents_llama::{
    LoadRequest, Loaded,
    chat::{self, ChatFormat, TemplateFormat, Vocabulary},
    engine::Device,
    gguf::Header,
    harmony::Harmony,
};
use parking_lot::Mutex;
use std::{
    io,
    num::NonZeroU32,
    path::Path,
    sync::{Arc, LazyLock},
};
use tracing::Level;

/// Environment variable with the number of threads, used if [`LoadRequest::threads`] is `None`.
const THREADS: &str = "OPENAGENTS_LLAMA_THREADS";

/// Loads the file into memory. Returns soon after a cancellation.
pub(crate) fn load(
    load: &LoadRequest,
    cancel: &CancellationToken,
    mut on_progress: impl FnMut(f32) + 'static,
) -> Result<LlamaModel, ModelError> {
    // Read first, because llama.cpp's errors are less specific.
    let header = Header::from_file(&load.path).map_err(|error| ModelError::Load(error.to_string()))?;
    check_architecture(&load.path, &header.architecture)?;
    let backend = backend()?;
    let params = LlamaModelParams::default().with_n_gpu_layers(ALL_LAYERS).with_progress_callback({
        let cancel = cancel.clone();
        move |progress| {
            on_progress(progress);
            !cancel.is_cancelled()
        }
    });
    let (model, reason) = with_log(|| LlamaModel::load_from_file(backend, &load.path, &params));
    match model {
        _ if cancel.is_cancelled() => Err(ModelError::Cancelled),
        Ok(model) => Ok(model),
        Err(error) => Err(load_error(&load.path, &error, reason)),
    }
}

pub(crate) fn open_session<'m>(model: &'m LlamaModel, load: &LoadRequest) -> Result<Session<'m>, ModelError> {
    let backend = backend()?;
    let tokens = load.context_tokens.clamp(1, model.n_ctx_train().max(1));
    let named = std::env::var(THREADS).ok();
    let threads = threads(load.threads, named.as_deref(), sysinfo::System::physical_core_count());
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(tokens))
        .with_n_batch(BATCH)
        .with_n_ubatch(BATCH)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        // With a sliding-window cache that drops tokens, truncating the cache gives wrong answers without an error.
        .with_swa_full(true)
        .with_no_perf(true);
    let (context, reason) = with_log(|| model.new_context(backend, params));
    let context = context.map_err(|error| {
        let reason = reason.unwrap_or_else(|| error.to_string());
        ModelError::Load(format!(
            "there is no room for a context of {tokens} tokens ({reason}); close other programs or choose a smaller model"
        ))
    })?;
    Ok(Session::new(context))
}

pub(crate) fn generator<'m>(
    model: &'m LlamaModel,
    load: &LoadRequest,
) -> Result<(Loaded, Generator<'m>), ModelError> {
    let session = open_session(model, load)?;
    let architecture = model.meta_val_str("general.architecture").unwrap_or_default();
    let vocabulary: Box<dyn Vocabulary + 'm>;
    let format: Box<dyn ChatFormat>;
    if architecture == "gpt-oss" {
        vocabulary = Box::new(vocabulary::harmony(&model.vocab()).map_err(chat_error)?);
        format = Box::new(Harmony::new());
    } else {
        vocabulary = Box::new(vocabulary::FileVocabulary { file: model.vocab() });
        format = file_format(model)?;
    }
    let name = model.meta_val_str("general.name").ok().filter(|name| !name.trim().is_empty());
    let stem = || load.path.file_stem().unwrap_or(load.path.as_os_str()).to_string_lossy().into_owned();
    let loaded = Loaded {
        path: load.path.clone(),
        name: name.unwrap_or_else(stem),
        architecture,
        context_tokens: session.context_tokens(),
        tools: format.tools(),
    };
    let vocab = model.vocab();
    let begin = vocab.should_add_bos().then(|| vocab.bos().0).filter(|token| *token >= 0);
    Ok((loaded, Generator { session, format, vocabulary, begin }))
}

fn file_format(model: &LlamaModel) -> Result<Box<dyn ChatFormat>, ModelError> {
    let vocab = model.vocab();
    let Ok(source) = model.meta_val_str("tokenizer.chat_template") else {
        return Ok(Box::new(chat::chatml()));
    };
    let marker = |token| marker(&vocab, token);
    let format = TemplateFormat::new(&source, &marker(vocab.bos()), &marker(vocab.eos()));
    Ok(Box::new(format.map_err(chat_error)?))
}

/// Returns the text of a special token; empty if the vocabulary has none.
fn marker(vocab: &LlamaVocab<'_>, token: llama_cpp_2::token::LlamaToken) -> String {
    if token.0 < 0 {
        return String::new();
    }
    String::from_utf8_lossy(&vocab.token_to_piece(token, true, None)).into_owned()
}

fn chat_error(error: chat::ChatError) -> ModelError {
    ModelError::Load(error.to_string())
}

/// Rejects models that can't generate text: sampling from them fails an assertion in C++.
fn check_architecture(path: &Path, architecture: &str) -> Result<(), ModelError> {
    let silent = architecture.contains("bert") || ["t5", "t5encoder", "clip"].contains(&architecture);
    if silent {
        let name = path.display();
        return Err(ModelError::Load(format!(
            "{name} has the architecture {architecture}, which does not chat; choose the file of a chat model"
        )));
    }
    Ok(())
}

fn load_error(path: &Path, error: &LlamaModelLoadError, reason: Option<String>) -> ModelError {
    let name = path.display();
    let reason = reason.unwrap_or_else(|| error.to_string());
    let architecture =
        reason.split_once("unknown model architecture: ").map(|(_, name)| name.trim_matches('\''));
    ModelError::Load(match architecture {
        Some(architecture) => {
            format!(
                "{name} has the architecture {architecture}, which is not supported; choose another model"
            )
        }
        None if reason.contains("not within the file bounds") || reason.contains("failed to read") => {
            format!("{name} is cut off or damaged; download it again")
        }
        None if reason.contains("alloc") || reason.contains("memory") => {
            format!(
                "{name} does not fit into memory ({reason}); close other programs or choose a smaller model"
            )
        }
        None => format!("{name} cannot be loaded: {reason}"),
    })
}

/// Returns the number of compute threads: `asked`, or else the value of [`THREADS`], or else the number of cores.
fn threads(asked: Option<u32>, named: Option<&str>, cores: Option<usize>) -> i32 {
    let named = named.and_then(|named| named.trim().parse().ok());
    let cores = cores.and_then(|cores| u32::try_from(cores).ok());
    let threads = asked.or(named).or(cores).unwrap_or(1);
    i32::try_from(threads.clamp(1, MOST_THREADS)).unwrap_or(1)
}

/// Runs `load` and returns the first error that it logged: llama.cpp's API returns no reason, but its log has one. All
/// events go to the log of the process afterwards.
pub(crate) fn with_log<T>(load: impl FnOnce() -> T) -> (T, Option<String>) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer({
            let log = log.clone();
            move || log.clone()
        })
        .with_max_level(Level::INFO)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .finish();
    let result = tracing::subscriber::with_default(subscriber, load);
    let text = std::mem::take(&mut *log.0.lock());
    let text = String::from_utf8_lossy(&text);
    let mut reason = None;
    for line in text.lines().map(str::trim) {
        match line.strip_prefix("ERROR ") {
            Some(error) => {
                tracing::warn!(target: "llama.cpp", "{error}");
                // Later errors only report the failure; the first one has the reason.
                reason.get_or_insert_with(|| without_prefixes(error));
            }
            None => tracing::debug!(target: "llama.cpp", "{line}"),
        }
    }
    (result, reason)
}

/// Removes prefixes such as `error loading model: ` and the suffix ` module="llama.cpp::…"`.
fn without_prefixes(error: &str) -> String {
    let error = error.rsplit_once(" module=").map_or(error, |(error, _)| error);
    let words = ["llama_model_load: ", "error loading model: ", "error loading model hyperparameters: "];
    let error = words.iter().fold(error, |error, word| error.strip_prefix(word).unwrap_or(error));
    error.trim().to_owned()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the backend; the first call initializes it and sends its log to `tracing`.
pub(crate) fn backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: LazyLock<Result<LlamaBackend, LlamaCppError>> = LazyLock::new(|| {
        send_logs_to_tracing(LogOptions::default());
        LlamaBackend::init()
    });
    BACKEND.as_ref().map_err(|error| ModelError::Unavailable(format!("cannot start llama.cpp: {error}")))
}

pub(crate) fn devices() -> Vec<Device> {
    list_llama_ggml_backend_devices().into_iter().map(device).collect()
}

fn device(device: LlamaBackendDevice) -> Device {
    let gpu =
        matches!(device.device_type, LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu);
    Device {
        name: device.name,
        description: device.description,
        gpu,
        memory_total: device.memory_total as u64,
        memory_free: device.memory_free as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_follow_request_variable_and_cores() {
        let rows = [
            (Some(3), Some("2"), Some(8), 3),
            (None, Some(" 2 "), Some(8), 2),
            (None, Some("many"), Some(8), 8),
            (None, None, None, 1),
            (Some(0), None, Some(8), 1),
            (Some(u32::MAX), None, None, 512),
        ];
        for (asked, named, cores, expected) in rows {
            assert_eq!(threads(asked, named, cores), expected, "{asked:?} {named:?} {cores:?}");
        }
    }

    #[test]
    fn check_architecture_rejects_encoders() {
        for (architecture, chats) in
            [("bert", false), ("nomic-bert-moe", false), ("t5", false), ("llama", true)]
        {
            assert_eq!(
                check_architecture(Path::new("m.gguf"), architecture).is_ok(),
                chats,
                "{architecture}"
            );
        }
    }

    #[test]
    fn load_error_has_remedy() {
        let rows = [
            (
                "load_from_file: error loading model: unknown model architecture: 'mamba9'",
                "the architecture mamba9,",
            ),
            ("tensor 'x' data is not within the file bounds", "download it again"),
            ("unable to allocate Metal buffer", "choose a smaller model"),
            ("something new", "something new"),
        ];
        for (reason, says) in rows {
            let error =
                load_error(Path::new("m.gguf"), &LlamaModelLoadError::NullResult, Some(reason.to_owned()));
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn with_log_returns_first_error() {
        let (value, reason) = with_log(|| {
            tracing::info!("loading");
            tracing::error!("error loading model: unknown model architecture: 'x'");
            tracing::error!("failed to load model");
            7
        });
        assert_eq!((value, reason.as_deref()), (7, Some("unknown model architecture: 'x'")));
        assert_eq!(with_log(|| tracing::warn!("only a warning")).1, None);
    }
}
