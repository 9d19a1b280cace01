//! Generates the logs of six agents, identical every time.

use super::{
    agents::{Agent, Session},
    opencode,
    text::{Dice, Pool},
};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The amount of data to generate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) transcripts: usize,
    /// Bytes of all transcripts together.
    pub(crate) bytes: u64,
    /// Bytes of one additional transcript, of Claude Code.
    pub(crate) long: u64,
}

#[derive(Debug)]
pub(crate) struct Corpus {
    /// The user's home folder, which contains the agents' folders.
    pub(crate) home: PathBuf,
    /// A folder to start programs in.
    pub(crate) workspace: PathBuf,
    pub(crate) bytes: u64,
    /// Words of the texts, most frequent first.
    pub(crate) words: Vec<String>,
    pub(crate) size: Size,
}

/// The agents of ten consecutive sessions, with the frequent agents repeated.
const TURN: [Agent; 10] = [
    Agent::Claude,
    Agent::Codex,
    Agent::Claude,
    Agent::Gemini,
    Agent::Codex,
    Agent::Claude,
    Agent::Copilot,
    Agent::Codex,
    Agent::Qwen,
    Agent::OpenCode,
];
/// The number of the long transcript.
const LONG: usize = 999_999_999;
/// The time of the newest session: 2026-11-01.
const NEWEST: i64 = 1_793_491_200_000;

/// Returns the id of the long transcript.
pub(crate) fn long_id() -> String {
    format!("01990000-0000-4000-8000-{LONG:012x}")
}

/// Returns the id and the path of a session of Claude Code, by its number.
pub(crate) fn claude_log(made: &Corpus, number: usize) -> (String, PathBuf) {
    let id = format!("01990000-0000-4000-8000-{number:012x}");
    let path = made.home.join(format!(".claude/projects/-w-project{}/{id}.jsonl", number % 37));
    (id, path)
}

/// Generates everything in `folder`, unless it already exists.
pub(crate) fn make(folder: &Path, size: Size) -> Result<Corpus> {
    let (home, workspace) = (folder.join("home"), folder.join("workspace"));
    let pool = Pool::new();
    let stamp = folder.join("made");
    let wanted = format!("5 {size:?}");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(Corpus { bytes: bytes(&home)?, home, workspace, words: pool.words, size });
    }
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    eprintln!("Making {} transcripts in {} …", size.transcripts, folder.display());
    fs::create_dir_all(&workspace)?;
    let mut database = opencode::Database::create(&home)?;
    for number in 0..size.transcripts {
        let agent = TURN[number % TURN.len()];
        let session = session(&pool, number, size);
        match agent {
            Agent::OpenCode => database.write(session)?,
            _ => session.write(agent, &home)?,
        }
    }
    database.close()?;
    let mut long = session(&pool, 0, size);
    (long.number, long.bytes) = (LONG, size.long);
    long.write(Agent::Claude, &home)?;
    fs::write(stamp, wanted)?;
    Ok(Corpus { bytes: bytes(&home)?, home, workspace, words: pool.words, size })
}

/// Half of the sessions are short and a tenth is long; the mean matches `size`.
fn session(pool: &Pool, number: usize, size: Size) -> Session<'_> {
    let mean = size.bytes as f64 / size.transcripts.max(1) as f64;
    let share = match number / TURN.len() % 10 {
        0..=4 => 0.15,
        5..=8 => 1.0,
        _ => 5.25,
    };
    Session {
        number,
        cwd: format!("/w/project{}", number % 37),
        at: NEWEST - number as i64 * 3_600_000,
        bytes: (mean * share) as u64,
        pool,
        dice: Dice::new(number as u64 + 7),
        total: 0,
    }
}

fn bytes(folder: &Path) -> Result<u64> {
    let mut all = 0;
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        all += if metadata.is_dir() { bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(all)
}
