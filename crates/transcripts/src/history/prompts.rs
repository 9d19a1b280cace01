//! Sessions of which only the prompts are left: Claude Code and Codex also write what was typed in a terminal into one
//! file for all sessions, `history.jsonl`, which they don't delete with the logs.

use super::{
    listing_cache::FileStamp,
    log::{
        lines::OpenLog,
        log_file::{LogFile, changed_at},
        title,
        undone::UndoneLines,
    },
    transcript::{Gone, GoneReason, Provider, Transcript},
};
use openagents_core::file;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The name of the file below the agent's folder.
const FILE: &str = "history.jsonl";
/// Maximum bytes of it that are read; of a longer one, nothing.
const BYTES: u64 = 256 << 20;
/// Maximum bytes of a text that was pasted into a prompt and has its own file.
const PASTED: u64 = 4 << 20;

/// A line of either agent.
#[derive(Deserialize)]
struct Line {
    #[serde(alias = "sessionId")]
    session_id: Option<String>,
    /// Of Claude Code: milliseconds since the epoch.
    timestamp: Option<i64>,
    /// Of Codex: seconds since the epoch.
    ts: Option<i64>,
    #[serde(alias = "display")]
    text: Option<String>,
    project: Option<PathBuf>,
    #[serde(rename = "pastedContents", default)]
    pasted: BTreeMap<String, Pasted>,
}

/// A text for which a prompt has a placeholder.
#[derive(Deserialize)]
struct Pasted {
    content: Option<String>,
    /// The name of its file in `paste-cache`.
    #[serde(rename = "contentHash")]
    hash: Option<String>,
}

#[derive(Debug)]
struct Prompt {
    /// Milliseconds since the epoch.
    at: i64,
    text: String,
    /// The number of each placeholder, and the name of the file with its text.
    pasted: Vec<(String, String)>,
    folder: Option<PathBuf>,
}

/// The prompts in a file, by session, oldest first.
type Prompts = HashMap<String, Vec<Prompt>>;

/// The files that were read last, with their state then.
#[derive(Debug, Default)]
pub(super) struct PromptFiles(Mutex<HashMap<PathBuf, (FileStamp, Arc<Prompts>)>>);

impl PromptFiles {
    /// Returns the sessions of an agent of which only prompts are left: those that are not in `known`.
    pub(super) fn sessions(
        &self,
        (provider, root): (Provider, &Path),
        known: &HashSet<&str>,
    ) -> Vec<(LogFile, Transcript)> {
        let Some(path) = file_of(provider, root) else { return Vec::new() };
        let Some(prompts) = self.read(&path) else { return Vec::new() };
        let left = prompts.iter().filter(|(id, _)| !known.contains(id.as_str()));
        left.filter_map(|(id, prompts)| row(provider, &path, id, prompts)).collect()
    }

    /// Opens the prompts of a session as a log of its agent. Blocks.
    pub(super) fn open(&self, session: &Transcript) -> io::Result<OpenLog> {
        let missing =
            || io::Error::new(io::ErrorKind::NotFound, format!("no prompts of {} are left", session.id));
        let path = session.file_path.parent().ok_or_else(missing)?;
        let prompts = self.read(path).ok_or_else(missing)?;
        let prompts = prompts.get(&session.id).ok_or_else(missing)?;
        let mut log = String::new();
        for prompt in prompts {
            log += &line(session, prompt, &prompt.whole_text(path)).to_string();
            log.push('\n');
        }
        Ok(OpenLog::of_records(log.into_bytes(), UndoneLines::default()))
    }

    fn read(&self, path: &Path) -> Option<Arc<Prompts>> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let stamp = FileStamp { size: metadata.len(), mtime_ns: changed_at(&metadata)? };
        if let Some((_, known)) = self.0.lock().get(path).filter(|(known, _)| *known == stamp) {
            return Some(known.clone());
        }
        let prompts = Arc::new(parse(&file::read_bounded(path, BYTES)?));
        self.0.lock().insert(path.to_owned(), (stamp, prompts.clone()));
        Some(prompts)
    }
}

/// Returns whether only prompts are left of the session with this path.
pub(super) fn is_prompts_only(session: &Path) -> bool {
    session.parent().is_some_and(|parent| parent.ends_with(FILE))
}

fn file_of(provider: Provider, root: &Path) -> Option<PathBuf> {
    matches!(provider, Provider::ClaudeCode | Provider::Codex).then(|| root.join(FILE))
}

fn parse(bytes: &[u8]) -> Prompts {
    let mut prompts = Prompts::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        let at = line.timestamp.or_else(|| line.ts?.checked_mul(1_000));
        let (Some(id), Some(at), Some(mut text)) = (line.session_id, at, line.text) else { continue };
        let mut pasted = Vec::new();
        for (number, Pasted { content, hash }) in line.pasted {
            match (content, hash) {
                (Some(content), _) => text = with_pasted(&text, &number, &content),
                (None, Some(hash)) => pasted.push((number, hash)),
                (None, None) => {}
            }
        }
        if !text.trim().is_empty() {
            prompts.entry(id).or_default().push(Prompt { at, text, pasted, folder: line.project });
        }
    }
    prompts
}

impl Prompt {
    fn whole_text(&self, file: &Path) -> String {
        let mut text = self.text.clone();
        for (number, hash) in &self.pasted {
            let is_name = hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let path = file.with_file_name("paste-cache").join(hash).with_extension("txt");
            if let Some(pasted) = file::read_bounded(&path, PASTED).filter(|_| is_name) {
                text = with_pasted(&text, number, &file::text(&pasted));
            }
        }
        text
    }
}

/// Replaces `[Pasted text #1 +59 lines]`.
fn with_pasted(text: &str, number: &str, pasted: &str) -> String {
    let start = text.find(&format!("[Pasted text #{number} ")).or_else(|| {
        let short = format!("[Pasted text #{number}]");
        text.find(&short)
    });
    let Some((start, end)) = start.and_then(|start| Some((start, start + text[start..].find(']')? + 1)))
    else {
        return text.to_owned();
    };
    format!("{}{pasted}{}", &text[..start], &text[end..])
}

fn row(provider: Provider, path: &Path, id: &str, prompts: &[Prompt]) -> Option<(LogFile, Transcript)> {
    let (first, last) = prompts.first().zip(prompts.last())?;
    let size = prompts.iter().map(|prompt| prompt.text.len() as u64).sum();
    let stamp = FileStamp { size, mtime_ns: last.at.saturating_mul(1_000_000) };
    let file = LogFile::in_database(path, id, stamp, false)?;
    let row = Transcript {
        title: prompts.iter().find_map(|prompt| title::prompt([prompt.text.as_str()])),
        cwd: first.folder.clone(),
        created_at: Some(first.at),
        user_turns: Some(prompts.len() as u64),
        hidden: true,
        gone: Some(Gone { since: None, reason: GoneReason::PromptsOnly }),
        ..file.unread(provider)
    };
    Some((file, row))
}

/// Returns a prompt as a line of its agent's log.
fn line(session: &Transcript, prompt: &Prompt, text: &str) -> Value {
    let at = jiff::Timestamp::from_millisecond(prompt.at).map(|at| at.to_string()).unwrap_or_default();
    match session.provider {
        Provider::Codex => {
            let content = json!([{"type": "input_text", "text": text}]);
            let payload = json!({"type": "message", "role": "user", "content": content});
            json!({"timestamp": at, "type": "response_item", "payload": payload})
        }
        _ => json!({"type": "user", "sessionId": session.id, "cwd": prompt.folder, "timestamp": at,
            "message": {"role": "user", "content": text}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_grouped_and_pasted_texts_put_back() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("paste-cache")).unwrap();
        fs::write(folder.path().join("paste-cache/8c93.txt"), "one\ntwo").unwrap();
        let lines = [
            r##"{"display":"[Pasted text #1 +2 lines] explain [Pasted text #2]","pastedContents":{"1":{"id":1,"type":"text","contentHash":"8c93"},"2":{"content":"[three]"}},"timestamp":1795645100374,"project":"/home/a/p","sessionId":"a"}"##,
            "not JSON",
            r##"{"display":"older, without a session","timestamp":1,"project":"/home/a/p"}"##,
            r##"{"session_id":"b","ts":1795645100,"text":"from Codex"}"##,
            r##"{"display":"[Pasted text #1 +2 lines]","pastedContents":{"1":{"contentHash":"../../secret"}},"timestamp":2,"sessionId":"a"}"##,
        ];
        let path = folder.path().join(FILE);
        fs::write(&path, lines.join("\n")).unwrap();
        let prompts = PromptFiles::default().read(&path).unwrap();
        let texts = |id: &str| prompts[id].iter().map(|prompt| prompt.whole_text(&path)).collect::<Vec<_>>();
        assert_eq!(texts("a"), ["one\ntwo explain [three]", "[Pasted text #1 +2 lines]"]);
        assert_eq!(texts("b"), ["from Codex"]);
        assert_eq!((prompts["b"][0].at, prompts.len()), (1_795_645_100_000, 2));
    }
}
