//! Makes the logs of six agents, the same ones every time.

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

/// How much is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) transcripts: usize,
    /// Of all transcripts together.
    pub(crate) bytes: u64,
    /// Of one more transcript, of Claude Code.
    pub(crate) long: u64,
}

/// What was made.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// The person's folder, with the agents' folders inside.
    pub(crate) home: PathBuf,
    /// A folder to start programs in.
    pub(crate) workspace: PathBuf,
    /// Bytes as they are on the disk.
    pub(crate) bytes: u64,
    /// Words of the texts, the frequent ones first.
    pub(crate) words: Vec<String>,
    pub(crate) size: Size,
}

/// Sessions of ten; the rest are rarer.
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
pub(crate) const LONG: usize = 999_999_999;
/// The time of the newest session: 2026-11-01.
const NEWEST: i64 = 1_793_491_200_000;

/// Makes everything in `folder`, or finds that it is there already.
pub(crate) fn make(folder: &Path, size: Size) -> Result<Corpus> {
    let (home, workspace) = (folder.join("home"), folder.join("workspace"));
    let pool = Pool::new();
    let stamp = folder.join("made");
    let wanted = format!("2 {size:?}");
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

/// Half of the sessions are short, a tenth is long; the mean is as wanted.
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
