//! Sessions that are open in their agent, by the files that some agents keep for their own processes.

use super::{
    logs::History,
    transcript::{Provider, Transcript},
};
use openagents_core::file;
use serde_json::Value;
use std::{fs, path::Path, time::UNIX_EPOCH};

/// Maximum bytes of a file for a process; real ones have less than 1 KiB.
const BYTES: u64 = 64 << 10;

/// A process that may write to a session's log at any moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenProcess {
    pub pid: u32,
    /// When it began or last reported, in milliseconds since the epoch.
    pub since: Option<i64>,
}

impl History {
    /// Returns the process of its agent that has a session open. Claude Code and Qwen Code name theirs in
    /// `sessions/<pid>.json`; for other agents it is unknown.
    pub fn open_process(&self, transcript: &Transcript) -> Option<OpenProcess> {
        if !matches!(transcript.provider, Provider::ClaudeCode | Provider::Qwen) {
            return None;
        }
        let folder = self.source(transcript).ok()?.root.join("sessions");
        let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        files
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .find_map(|path| process_of(&path, &transcript.id))
    }
}

fn process_of(path: &Path, session: &str) -> Option<OpenProcess> {
    let named: u32 = path.file_stem()?.to_str()?.parse().ok()?;
    let value: Value = serde_json::from_slice(&file::read_bounded(path, BYTES)?).ok()?;
    if value["sessionId"].as_str() != Some(session) {
        return None;
    }
    let started = match &value["procStart"] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let began = value["startedAt"].as_i64();
    let reported = || {
        let changed = fs::metadata(path).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(changed.as_millis()).ok()
    };
    let process = OpenProcess { pid: named, since: began.or_else(reported) };
    is_running(process.pid, started.as_deref()).then_some(process)
}

/// Returns whether the process runs, and not a later one with the same number. `started` is field 22 of
/// `/proc/<pid>/stat` on Linux; elsewhere only the number is checked.
fn is_running(pid: u32, started: Option<&str>) -> bool {
    let Some(known) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    if !cfg!(target_os = "linux") {
        return rustix::process::test_kill_process(known).is_ok();
    }
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name of the program, which is in parentheses, may contain anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let start = fields.split_ascii_whitespace().nth(19);
    started.is_none() || start == started
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn process_is_found_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let pid = std::process::id();
        let path = folder.path().join(format!("{pid}.json"));
        let write = |value: Value| fs::write(&path, value.to_string()).unwrap();
        let open = || process_of(&path, "s1");

        write(json!({"sessionId": "s1", "startedAt": 7}));
        assert_eq!(open(), Some(OpenProcess { pid, since: Some(7) }));
        write(json!({"sessionId": "s2", "startedAt": 7}));
        assert_eq!(open(), None, "another session");
        fs::write(&path, "{\"sessionId\": \"s1\"").unwrap();
        assert_eq!(open(), None, "it is being written");
        write(json!({"sessionId": "s1"}));
        assert!(open().is_some_and(|open| open.since.is_some()), "when the file was written");

        let gone = folder.path().join("4194304.json");
        fs::write(&gone, json!({"sessionId": "s1"}).to_string()).unwrap();
        assert_eq!(process_of(&gone, "s1"), None, "no such process");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn later_process_with_same_number_is_another() {
        let pid = std::process::id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let start = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap();
        assert!(is_running(pid, Some(start)));
        assert!(!is_running(pid, Some("1")));
    }
}
