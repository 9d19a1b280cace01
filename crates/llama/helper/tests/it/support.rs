//! Models, engines and answers.

use openagents_core::{
    CancellationToken,
    model::{
        Activity, CallRequest, Message, ModelError, ModelEvent, ModelOptions, ModelRequest, StopReason,
        ToolSpec, Usage,
    },
};
use openagents_e2e::gptoss::{self, Script};
use openagents_llama::{Engine, LoadRequest, Loaded, client::Helper};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};
use sysinfo::{Pid, ProcessesToUpdate, System};

/// Time limit for every wait; exceeding it means a hang.
const HANG: Duration = Duration::from_secs(60);

/// Returns SmolLM2, a real small chat model.
pub(crate) fn small_model() -> PathBuf {
    let built = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-models");
    let folder = std::env::var_os("OPENAGENTS_TEST_MODELS").map_or_else(built, PathBuf::from);
    let path = folder.join("SmolLM2-135M-Instruct.gguf");
    assert!(path.is_file(), "{} is missing; scripts/test-models.sh puts it there", path.display());
    path
}

/// Returns a tiny gpt-oss; see [`Script::weather`].
pub(crate) fn gpt_oss() -> PathBuf {
    static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
    WRITTEN.get_or_init(|| scripted("engine.gguf", &Script::weather())).clone()
}

/// Writes a tiny gpt-oss with scripted answers.
pub(crate) fn scripted(name: &str, script: &Script) -> PathBuf {
    // Tests write the same model at the same time.
    static DRAFTS: AtomicU32 = AtomicU32::new(0);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let draft = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("{}-{draft}", std::process::id()));
    gptoss::write_model(&new, script).unwrap();
    std::fs::rename(new, &path).unwrap();
    path
}

pub(crate) fn helper() -> Helper {
    Helper::at(env!("CARGO_BIN_EXE_openagents-llama"))
}

pub(crate) fn load(engine: &dyn Engine, path: &Path, context_tokens: u32) -> Loaded {
    try_load(engine, path, context_tokens).unwrap()
}

pub(crate) fn try_load(engine: &dyn Engine, path: &Path, context_tokens: u32) -> Result<Loaded, ModelError> {
    let request = LoadRequest { path: path.to_owned(), context_tokens, threads: Some(1) };
    engine.load(&request, &CancellationToken::new(), &mut |_| ())
}

/// A request without randomness.
pub(crate) fn ask(text: &str, max_tokens: u32) -> ModelRequest {
    ModelRequest {
        instructions: "Answer in one sentence.".to_owned(),
        messages: vec![Message::User { text: text.to_owned() }],
        options: ModelOptions { temperature: 0.0, max_tokens: Some(max_tokens), ..ModelOptions::default() },
        ..ModelRequest::default()
    }
}

pub(crate) fn weather_tool() -> ToolSpec {
    ToolSpec {
        name: "get_weather".to_owned(),
        description: "Gets the weather.".to_owned(),
        parameters: serde_json::json!({
            "type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]
        }),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<CallRequest>,
    pub(crate) activities: Vec<Activity>,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<StopReason>,
}

impl Answer {
    pub(crate) fn take(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Activity(activity) => self.activities.push(activity),
            ModelEvent::Text(text) => self.text += &text,
            ModelEvent::Preamble(_) => {}
            ModelEvent::Reasoning(reasoning) => self.reasoning += reasoning.for_template(),
            ModelEvent::ToolCall(call) => self.calls.push(call),
            ModelEvent::Usage(usage) => self.usage = usage,
        }
    }
}

pub(crate) fn answer(engine: &dyn Engine, request: &ModelRequest) -> Answer {
    try_answer(engine, request).unwrap()
}

pub(crate) fn try_answer(engine: &dyn Engine, request: &ModelRequest) -> Result<Answer, ModelError> {
    let mut answer = Answer::default();
    let stop = engine.generate(request, &CancellationToken::new(), &mut |event| answer.take(event))?;
    answer.stop = Some(stop);
    Ok(answer)
}

pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !so() {
        assert!(started.elapsed() < HANG, "still waiting: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal and returns whether the process exists; 0 only checks. Zombies count.
pub(crate) fn signal(signal: &str, process: u32) -> bool {
    let kill = Command::new("kill").args([&format!("-{signal}"), &process.to_string()]).output();
    kill.unwrap().status.success()
}

/// Returns CPU time and resident memory of a process.
pub(crate) fn effort(process: u32) -> (u64, u64) {
    let pid = Pid::from_u32(process);
    let mut system = System::new();
    system.refresh_processes(ProcessesToUpdate::Some(&[pid]), true);
    let process = system.process(pid).unwrap();
    (process.accumulated_cpu_time(), process.memory())
}

/// Returns the small model with another template of up to 368 bytes.
pub(crate) fn with_template(folder: &Path, template: &str) -> PathBuf {
    let mut bytes = std::fs::read(small_model()).unwrap();
    let key = b"tokenizer.chat_template";
    // After the key come the type (four bytes) and the length (eight bytes).
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
    let length = usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap();
    let padded = format!("{template:length$}");
    assert_eq!(padded.len(), length);
    bytes[at + 8..at + 8 + length].copy_from_slice(padded.as_bytes());
    let path = folder.join("template.gguf");
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Returns a copy of the tiny gpt-oss with another architecture.
pub(crate) fn other_architecture(folder: &Path) -> PathBuf {
    let mut bytes = std::fs::read(gpt_oss()).unwrap();
    // The header comes first; the vocabulary in it does not contain the name.
    for at in 0..20_000 {
        if bytes[at..].starts_with(b"gpt-oss") {
            bytes[at..at + 7].copy_from_slice(b"gpt-new");
        }
    }
    let path = folder.join("other.gguf");
    std::fs::write(&path, bytes).unwrap();
    path
}
