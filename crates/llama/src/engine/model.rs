//! Loads a GGUF file: model, context, vocabulary and chat format.

use super::{
    LoadRequest, Loaded, answer::Speaker, backend::backend, load_log::with_log, session::Session, vocabulary,
};
use crate::{
    chat::{self, ChatFormat, TemplateFormat, Vocabulary},
    gguf::Header,
    harmony::Harmony,
};
use llama_cpp_2::{
    LlamaModelLoadError,
    context::params::LlamaContextParams,
    model::{LlamaModel, params::LlamaModelParams},
    vocab::LlamaVocab,
};
use openagents_core::{CancellationToken, model::ModelError};
use std::{num::NonZeroU32, path::Path};

/// Layers that go to a graphics processor where there is one: all, whatever the model.
const ALL_LAYERS: u32 = 999;

/// Tokens that are computed at once. What llama.cpp itself takes; less is slower on a graphics processor.
const BATCH: u32 = 512;

/// Names the threads when [`LoadRequest::threads`] does not.
const THREADS: &str = "OPENAGENTS_LLAMA_THREADS";

/// Reads the file into memory. Ends soon after a cancel.
pub(super) fn load(
    load: &LoadRequest,
    cancel: &CancellationToken,
    mut on_progress: impl FnMut(f32) + 'static,
) -> Result<LlamaModel, ModelError> {
    // llama.cpp would only say that it failed.
    Header::read(&load.path).map_err(|error| ModelError::Load(error.to_string()))?;
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
        Err(error) => Err(refused(&load.path, &error, reason)),
    }
}

/// Makes the context of a model.
pub(super) fn open<'m>(model: &'m LlamaModel, load: &LoadRequest) -> Result<Session<'m>, ModelError> {
    let backend = backend()?;
    let tokens = load.context_tokens.clamp(1, model.n_ctx_train().max(1));
    let threads = threads(load);
    let params = LlamaContextParams::default()
        // The default is 512 tokens.
        .with_n_ctx(NonZeroU32::new(tokens))
        .with_n_batch(BATCH)
        .with_n_ubatch(BATCH)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        // A window that forgets would make going back to an earlier token wrong without any error.
        .with_swa_full(true)
        .with_no_perf(true);
    let (context, reason) = with_log(|| model.new_context(backend, params));
    let context = context.map_err(|error| {
        let reason = reason.unwrap_or_else(|| error.to_string());
        ModelError::Load(format!(
            "there is no room for a context of {tokens} tokens ({reason}); close other programs or choose a smaller model"
        ))
    })?;
    Ok(Session::new(context, backend.supports_gpu_offload()))
}

/// Makes a model ready to answer, and returns what its file says about itself.
pub(super) fn speaker<'m>(
    model: &'m LlamaModel,
    load: &LoadRequest,
) -> Result<(Loaded, Speaker<'m>), ModelError> {
    let session = open(model, load)?;
    let architecture = model.meta_val_str("general.architecture").unwrap_or_default();
    let vocabulary: Box<dyn Vocabulary + 'm>;
    let format: Box<dyn ChatFormat>;
    if architecture == "gpt-oss" {
        vocabulary = Box::new(vocabulary::HarmonyVocabulary::of(model.vocab()).map_err(not_loaded)?);
        format = Box::new(Harmony::new());
    } else {
        vocabulary = Box::new(vocabulary::FileVocabulary::of(model.vocab()));
        format = template(model)?;
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
    Ok((loaded, Speaker { session, format, vocabulary, begin }))
}

fn template(model: &LlamaModel) -> Result<Box<dyn ChatFormat>, ModelError> {
    let vocab = model.vocab();
    let Ok(source) = model.meta_val_str("tokenizer.chat_template") else {
        return Ok(Box::new(chat::chatml()));
    };
    let marker = |token| marker(&vocab, token);
    let format = TemplateFormat::new(&source, &marker(vocab.bos()), &marker(vocab.eos()));
    Ok(Box::new(format.map_err(not_loaded)?))
}

/// Returns the text of a special token; empty when the vocabulary has none.
fn marker(vocab: &LlamaVocab<'_>, token: llama_cpp_2::token::LlamaToken) -> String {
    if token.0 < 0 {
        return String::new();
    }
    String::from_utf8_lossy(&vocab.token_to_piece(token, true, None)).into_owned()
}

fn not_loaded(error: chat::ChatError) -> ModelError {
    ModelError::Load(error.to_string())
}

/// Makes one sentence of what llama.cpp says about a file that it cannot load.
fn refused(path: &Path, error: &LlamaModelLoadError, reason: Option<String>) -> ModelError {
    let name = path.display();
    let reason = reason.unwrap_or_else(|| error.to_string());
    let architecture =
        reason.strip_prefix("unknown model architecture: ").map(|name| name.trim_matches('\'').to_owned());
    ModelError::Load(match architecture {
        Some(architecture) => {
            format!(
                "{name} has the architecture {architecture}, which cannot be run here; choose another model"
            )
        }
        None if reason.contains("not within the file bounds") || reason.contains("failed to read") => {
            format!("{name} is cut off or damaged; download it again")
        }
        None => format!("{name} cannot be loaded: {reason}"),
    })
}

fn threads(load: &LoadRequest) -> i32 {
    let named = || std::env::var(THREADS).ok()?.trim().parse::<u32>().ok();
    let cores = || sysinfo::System::physical_core_count().and_then(|cores| u32::try_from(cores).ok());
    let threads = load.threads.or_else(named).or_else(cores).unwrap_or(1);
    i32::try_from(threads.clamp(1, 512)).unwrap_or(1)
}
