//! Generates a large workspace and a large history, identical every time.

use anyhow::{Context, Result};
use serde_json::json;
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The amount of data to generate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) files: usize,
    /// Past sessions, half from each agent.
    pub(crate) transcripts: usize,
    pub(crate) transcript_bytes: u64,
}

/// The generated folders.
#[derive(Debug, Clone)]
pub(crate) struct Synthetic {
    pub(crate) workspace: PathBuf,
    /// `CODEX_HOME`.
    pub(crate) codex: PathBuf,
    /// `CLAUDE_CONFIG_DIR`.
    pub(crate) claude: PathBuf,
}

/// A word in every hundredth source file and in some sessions.
pub(crate) const NEEDLE: &str = "reconnect";

/// One in this many sessions ran in the workspace.
const IN_WORKSPACE: usize = 10;

const WORDS: [&str; 32] = [
    "session",
    "bridge",
    "update",
    "stream",
    "plan",
    "tool",
    "workspace",
    "agent",
    "frame",
    "socket",
    "reader",
    "writer",
    "buffer",
    "token",
    "client",
    "server",
    "value",
    "result",
    "error",
    "index",
    "cursor",
    "line",
    "path",
    "entry",
    "limit",
    "queue",
    "worker",
    "signal",
    "timer",
    "parser",
    "store",
    "model",
];

/// A small pseudo-random number generator (xorshift64*), so that every machine generates the same bytes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below.max(1)
    }

    fn sentence(&mut self, words: usize) -> String {
        (0..words).map(|_| WORDS[self.roll(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }
}

/// Generates everything below `folder`, unless it already exists.
pub(crate) fn make(folder: &Path, size: Size) -> Result<Synthetic> {
    let made = Synthetic {
        workspace: folder.join("workspace"),
        codex: folder.join("codex"),
        claude: folder.join("claude"),
    };
    let stamp = folder.join("made");
    let wanted = format!("1 {size:?}");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(made);
    }
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    eprintln!("Making {} files and {} transcripts in {} …", size.files, size.transcripts, folder.display());
    tree(&made.workspace, size.files)?;
    let bytes = size.transcript_bytes / size.transcripts.max(1) as u64;
    for number in 0..size.transcripts {
        let session = Session::new(number, size.transcripts, &made.workspace);
        match number % 2 {
            0 => session.codex(&made.codex, bytes)?,
            _ => session.claude(&made.claude, bytes)?,
        }
    }
    fs::write(stamp, wanted)?;
    Ok(made)
}

fn tree(root: &Path, files: usize) -> Result<()> {
    fs::create_dir_all(root)?;
    fs::write(
        root.join("README.md"),
        "# Synthetic\n\nSynthetic is a large tree that exists to be measured.\n",
    )?;
    fs::write(root.join(".gitignore"), "*.log\n/generated/\n")?;
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for number in 0..files {
        let folder = root.join(format!("part{:02}/unit{:02}", number / 4000, number / 40 % 100));
        if number % 40 == 0 {
            fs::create_dir_all(&folder)?;
        }
        let mut text = String::new();
        for line in 0..20 + dice.roll(60) {
            let marked = number % 100 == 7 && line % 16 == 3;
            let word = if marked { NEEDLE } else { WORDS[dice.roll(WORDS.len())] };
            text.push_str(&format!(
                "    let {word}_{line} = {}({});\n",
                WORDS[dice.roll(WORDS.len())],
                dice.roll(9999)
            ));
        }
        fs::write(folder.join(format!("file{number:05}.rs")), text)?;
    }
    Ok(())
}

struct Session {
    number: usize,
    id: String,
    cwd: String,
    prompt: String,
    changed: SystemTime,
    dice: Dice,
}

impl Session {
    fn new(number: usize, all: usize, workspace: &Path) -> Self {
        let here = number % IN_WORKSPACE < 2;
        let cwd =
            if here { workspace.display().to_string() } else { format!("/elsewhere/project{}", number % 37) };
        let mut dice = Dice(number as u64 + 1);
        let topic = if number.is_multiple_of(7) { NEEDLE } else { WORDS[dice.roll(WORDS.len())] };
        let age = Duration::from_secs(3600 * (all - number) as u64);
        Self {
            id: format!("01990000-0000-7000-8000-{number:012x}"),
            cwd,
            prompt: format!("Make the {topic} handshake survive a lost {}", dice.sentence(2)),
            changed: SystemTime::now() - age,
            number,
            dice,
        }
    }

    fn timestamp(&self, line: usize) -> String {
        format!(
            "2025-10-{:02}T{:02}:{:02}:{:02}.000Z",
            1 + self.number % 28,
            line / 3600 % 24,
            line / 60 % 60,
            line % 60
        )
    }

    fn codex(mut self, home: &Path, bytes: u64) -> Result<()> {
        let day = home.join(format!("sessions/2025/10/{:02}", 1 + self.number % 28));
        fs::create_dir_all(&day)?;
        let path =
            day.join(format!("rollout-2025-10-{:02}T10-00-00-{}.jsonl", 1 + self.number % 28, self.id));
        let mut log = Log::create(&path)?;
        let (id, cwd, prompt, start) =
            (self.id.clone(), self.cwd.clone(), self.prompt.clone(), self.timestamp(0));
        log.line(
            &json!({"timestamp": start, "type": "session_meta", "payload": {"id": id, "timestamp": start,
            "cwd": cwd, "originator": "codex_cli_rs", "cli_version": "0.98.0", "source": "cli",
            "base_instructions": {"text": self.dice.sentence(2500)}, "git": {"branch": "main"}}}),
        )?;
        log.line(
            &json!({"timestamp": start, "type": "turn_context", "payload": {"cwd": cwd, "model": "gpt-5.5"}}),
        )?;
        log.line(&json!({"timestamp": start, "type": "event_msg", "payload": {"type": "user_message", "message": prompt}}))?;
        let mut line = 0;
        while log.written < bytes {
            line += 1;
            let (at, call) = (self.timestamp(line), format!("call_{line}"));
            log.line(&json!({"timestamp": at, "type": "response_item", "payload": {"type": "function_call",
                "name": "shell", "call_id": call, "arguments": format!("{{\"command\":[\"cat\",\"part00/unit00/file{:05}.rs\"]}}", line % 40)}}))?;
            log.line(
                &json!({"timestamp": at, "type": "response_item", "payload": {"type": "function_call_output",
                "call_id": call, "output": self.dice.sentence(400)}}),
            )?;
            log.line(&json!({"timestamp": at, "type": "event_msg", "payload": {"type": "agent_message", "message": self.dice.sentence(40)}}))?;
        }
        log.close(self.changed)
    }

    fn claude(mut self, home: &Path, bytes: u64) -> Result<()> {
        let slug: String =
            self.cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let folder = home.join("projects").join(slug);
        fs::create_dir_all(&folder)?;
        let mut log = Log::create(&folder.join(format!("{}.jsonl", self.id)))?;
        let mut line = 0;
        while log.written < bytes {
            let base = |line: usize, kind: &str, message: serde_json::Value| {
                json!({"type": kind, "uuid": format!("{:08x}-0000-4000-8000-{:012x}", self.number, line),
                    "parentUuid": null, "sessionId": self.id, "timestamp": self.timestamp(line), "cwd": self.cwd,
                    "gitBranch": "main", "version": "2.1.120", "isSidechain": false, "userType": "external",
                    "message": message})
            };
            let file = format!("{}/part00/unit00/file{:05}.rs", self.cwd, line % 40);
            let prompt = json!({"role": "user", "content": self.prompt});
            let call = json!({"id": format!("msg_{line}"), "role": "assistant", "model": "claude-sonnet-4-5",
                "content": [{"type": "tool_use", "id": format!("toolu_{line}"), "name": "Edit", "input": {"file_path": file}}]});
            if line == 0 {
                log.line(&base(0, "user", prompt))?;
            }
            log.line(&base(line + 1, "assistant", call))?;
            let text = self.dice.sentence(400);
            let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("toolu_{line}"), "content": text}]});
            let base = |line: usize| {
                json!({"type": "user", "uuid": format!("{:08x}-0000-4000-9000-{:012x}", self.number, line),
                    "sessionId": self.id, "timestamp": self.timestamp(line), "cwd": self.cwd, "isSidechain": false,
                    "message": result})
            };
            log.line(&base(line + 2))?;
            line += 2;
        }
        log.close(self.changed)
    }
}

struct Log {
    file: BufWriter<File>,
    written: u64,
}

impl Log {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        Ok(Self { file: BufWriter::new(file), written: 0 })
    }

    fn line(&mut self, value: &serde_json::Value) -> Result<()> {
        let text = value.to_string();
        self.written += text.len() as u64 + 1;
        self.file.write_all(text.as_bytes())?;
        Ok(self.file.write_all(b"\n")?)
    }

    fn close(self, changed: SystemTime) -> Result<()> {
        Ok(self.file.into_inner()?.set_modified(changed)?)
    }
}
