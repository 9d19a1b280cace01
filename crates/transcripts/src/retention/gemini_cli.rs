//! Gemini CLI deletes sessions of its project at each start: those whose `lastUpdated` is older than
//! `general.sessionRetention.maxAge` (30 days), those beyond `maxCount`, those that it cannot read, and every file
//! with the short id of one of them.
//!
//! Taken from the code of Gemini CLI 0.61 and tested with it. The settings:
//! <https://geminicli.com/docs/cli/session-management>.

use super::place::{DAY, Place, read_settings};
use serde_json::Value;
use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// System settings, applied before and after the user's settings.
const SYSTEM: [&str; 2] = if cfg!(target_os = "macos") {
    [
        "/Library/Application Support/GeminiCli/system-defaults.json",
        "/Library/Application Support/GeminiCli/settings.json",
    ]
} else {
    ["/etc/gemini-cli/system-defaults.json", "/etc/gemini-cli/settings.json"]
};

const SESSION_BYTES: u64 = 64 << 20;

/// Maximum number of sessions read per project.
const SESSIONS: usize = 5_000;

/// The beginning of the first message of every session.
const CONTEXT: &str = "<session_context>";

#[derive(Debug, PartialEq)]
struct Rules {
    max_age: Option<Duration>,
    max_count: Option<usize>,
}

#[derive(Debug, Default)]
struct Session {
    short_id: String,
    id: bool,
    is_subagent: bool,
    has_prompt: bool,
    updated: Option<SystemTime>,
}

pub(super) fn count_due(place: &Place<'_>) -> usize {
    let Some(home) = place.folder("GEMINI_CLI_HOME", "").map(|home| home.join(".gemini")) else { return 0 };
    let Some(rules) = read_rules(&home, place.workspace) else { return 0 };
    let Some(chats) = chats_folder(&home, place.workspace) else { return 0 };
    let files = fs::read_dir(chats).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sessions: Vec<_> = files.filter_map(|path| read_session(&path)).take(SESSIONS).collect();
    // Newest first. Unreadable sessions don't count.
    sessions.sort_by_key(|session| std::cmp::Reverse(session.updated));
    let oldest = rules.max_age.and_then(|age| place.before(age));
    let mut kept = 0;
    let mut gone = HashSet::new();
    for session in &sessions {
        let is_readable = session.id && session.has_prompt && !session.is_subagent;
        let is_expired = session.updated.zip(oldest).is_some_and(|(updated, oldest)| updated < oldest);
        let is_over = rules.max_count.is_some_and(|count| kept >= count);
        kept += usize::from(is_readable);
        if !is_readable || is_expired || is_over {
            gone.insert(session.short_id.as_str());
        }
    }
    // Files without a prompt are not sessions: each start leaves one.
    let is_lost = |session: &&Session| {
        session.has_prompt && !session.is_subagent && gone.contains(session.short_id.as_str())
    };
    sessions.iter().filter(is_lost).count()
}

pub(super) fn period(place: &Place<'_>) -> Option<Duration> {
    read_rules(&place.folder("GEMINI_CLI_HOME", "")?.join(".gemini"), place.workspace)?.max_age
}

pub(super) fn is_managed() -> bool {
    let files = SYSTEM.map(PathBuf::from);
    let settings = read_settings(&files, |text| serde_json::from_str(&without_comments(text)).ok());
    let has = |settings: &Value| settings["general"].get("sessionRetention").is_some();
    settings.unwrap_or_default().iter().any(has)
}

/// Returns the rules; `None` if nothing is deleted.
fn read_rules(home: &Path, workspace: &Path) -> Option<Rules> {
    let files = [
        PathBuf::from(SYSTEM[0]),
        home.join("settings.json"),
        workspace.join(".gemini/settings.json"),
        PathBuf::from(SYSTEM[1]),
    ];
    // Gemini CLI does not start if it can't parse a settings file.
    let settings = read_settings(&files, |text| serde_json::from_str(&without_comments(text)).ok())?;
    let last = |name: &str| {
        let retention = |settings: &Value| settings["general"]["sessionRetention"].get(name).cloned();
        settings.iter().rev().find_map(retention)
    };
    if last("enabled").is_some_and(|enabled| enabled != true) {
        return None;
    }
    let age = last("maxAge").unwrap_or_else(|| "30d".into());
    let max_age = match age.as_str() {
        Some("") => None,
        Some(age) => Some(parse_period(age)?),
        None => None,
    };
    let least = last("minRetention").and_then(|least| parse_period(least.as_str()?)).unwrap_or(DAY);
    let max_count =
        last("maxCount").map(|count| count.as_u64().and_then(|count| usize::try_from(count).ok()));
    let is_valid = max_age.is_none_or(|age| age >= least)
        && max_count.is_none_or(|count| count.is_some_and(|count| count > 0))
        && (max_age.is_some() || max_count.is_some());
    is_valid.then(|| Rules { max_age, max_count: max_count.flatten() })
}

/// Parses `24h`, `30d`, `4w`, `6m`.
fn parse_period(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let number: u32 = text.strip_suffix(unit)?.parse().ok().filter(|number| *number > 0)?;
    let unit = match unit {
        'h' => DAY / 24,
        'd' => DAY,
        'w' => DAY * 7,
        'm' => DAY * 30,
        _ => return None,
    };
    unit.checked_mul(number)
}

fn chats_folder(home: &Path, workspace: &Path) -> Option<PathBuf> {
    let tmp = home.join("tmp");
    let is_of_workspace = |folder: &PathBuf| {
        let root = fs::read_to_string(folder.join(".project_root"));
        root.is_ok_and(|root| Path::new(root.trim()) == workspace)
    };
    let mut folders = fs::read_dir(tmp).ok()?.flatten().map(|entry| entry.path());
    Some(folders.find(is_of_workspace)?.join("chats"))
}

fn read_session(path: &Path) -> Option<Session> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_prefix("session-")?;
    let stem = stem.strip_suffix(".jsonl").or_else(|| stem.strip_suffix(".json"))?;
    let short_id = stem.rsplit('-').next()?.to_owned();
    let mut session = Session { short_id, ..Session::default() };
    let file = BufReader::new(File::open(path).ok()?.take(SESSION_BYTES));
    if name.ends_with(".jsonl") {
        for line in file.split(b'\n').map_while(Result::ok) {
            if let Ok(record) = serde_json::from_slice(&line) {
                session.add(&record);
            }
        }
    } else if let Ok(record) = serde_json::from_reader(file) {
        session.add(&record);
    }
    let written = || fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    session.updated = session.updated.or_else(written);
    Some(session)
}

impl Session {
    fn add(&mut self, record: &Value) {
        let set = record.get("$set").unwrap_or(record);
        self.id |= set["sessionId"].as_str().is_some_and(|id| !id.is_empty());
        self.is_subagent |= set["kind"] == "subagent";
        let time = ["lastUpdated", "startTime"].iter().find_map(|key| set[*key].as_str());
        if let Some(time) = time.and_then(|time| time.parse::<jiff::Timestamp>().ok()) {
            self.updated = Some(SystemTime::from(time));
        }
        let messages = set["messages"].as_array();
        self.has_prompt |= is_prompt(record) || messages.into_iter().flatten().any(is_prompt);
    }
}

fn is_prompt(message: &Value) -> bool {
    let text =
        |part: &Value| part["text"].as_str().is_some_and(|text| !text.trim_start().starts_with(CONTEXT));
    message["type"] == "user"
        && match &message["content"] {
            Value::Array(parts) => parts.iter().any(text),
            Value::String(text) => !text.trim_start().starts_with(CONTEXT),
            _ => false,
        }
}

/// Replaces comments, which these settings may contain, with spaces.
fn without_comments(text: &str) -> String {
    let (mut plain, mut characters) = (String::with_capacity(text.len()), text.chars().peekable());
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('"', _) => {
                plain.push(character);
                while let Some(inside) = characters.next() {
                    plain.push(inside);
                    match inside {
                        '\\' => plain.extend(characters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while characters.next_if(|character| *character != '\n').is_some() {},
            ('/', Some('*')) => {
                characters.next();
                let mut last = ' ';
                for inside in characters.by_ref() {
                    if (last, inside) == ('*', '/') {
                        break;
                    }
                    last = inside;
                }
                plain.push(' ');
            }
            _ => plain.push(character),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Home {
        keep: tempfile::TempDir,
        now: SystemTime,
    }

    impl Home {
        fn new() -> Self {
            Self { keep: tempfile::tempdir().unwrap(), now: SystemTime::now() }
        }

        fn with(self, path: &str, text: &str) -> Self {
            let path = self.keep.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text.replace("WORK", &self.keep.path().join("work").display().to_string()))
                .unwrap();
            self
        }

        fn days_ago(&self, days: u32) -> String {
            jiff::Timestamp::try_from(self.now - DAY * days).unwrap().to_string()
        }

        /// Adds a session that was last updated `days` ago.
        fn session(self, project: &str, short_id: &str, days: u32) -> Self {
            let (at, later) = (self.days_ago(days + 1), self.days_ago(days));
            let lines = [
                json!({"sessionId": format!("{short_id}-0000"), "startTime": at, "lastUpdated": at, "kind": "main"}),
                json!({"$set": {"messages": [{"type": "user", "content": [{"text": "<session_context>\nThis is"}]}]}}),
                json!({"id": "1", "type": "user", "content": [{"text": "fix it"}]}),
                json!({"$set": {"lastUpdated": later}}),
            ];
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            self.with(
                &format!(".gemini/tmp/{project}/chats/session-2026-01-01T00-00-{short_id}.jsonl"),
                &text,
            )
        }

        fn due(&self) -> usize {
            let home = self.keep.path().display().to_string();
            let variable = |name: &str| (name == "HOME").then(|| home.clone());
            count_due(&Place {
                variable: &variable,
                workspace: &self.keep.path().join("work"),
                now: self.now,
            })
        }
    }

    fn sessions() -> Home {
        Home::new()
            .with(".gemini/tmp/work/.project_root", "WORK")
            .with(".gemini/tmp/other/.project_root", "/other")
            .session("work", "aaaaaaaa", 31)
            .session("work", "bbbbbbbb", 29)
            .session("work", "cccccccc", 3)
            .session("other", "dddddddd", 400)
    }

    #[test]
    fn count_due_counts_expired_project_sessions() {
        assert_eq!(Home::new().due(), 0);
        assert_eq!(sessions().due(), 1);
    }

    #[test]
    fn count_due_includes_unreadable_sessions() {
        // Each start of Gemini CLI leaves a file without a prompt.
        let stub = r#"{"sessionId":"eeeeeeee","startTime":"2026-01-01T00:00:00Z","kind":"main"}"#;
        let home = sessions().with(".gemini/tmp/work/chats/session-2026-01-01T00-00-eeeeeeee.jsonl", stub);
        assert_eq!(home.due(), 1);
        let unreadable = r#"{"type":"user","content":"fix it"}"#;
        let home = home.with(".gemini/tmp/work/chats/session-2026-01-01T00-00-ffffffff.jsonl", unreadable);
        assert_eq!(home.due(), 2);
        let damaged = sessions().with(".gemini/tmp/work/chats/session-2026-02-01T00-00-cccccccc.jsonl", "");
        assert_eq!(damaged.due(), 2);
    }

    #[test]
    fn count_due_reads_older_format() {
        let home = sessions();
        let text = json!({"sessionId": "1", "lastUpdated": home.days_ago(50), "messages": [{"type": "user", "content": "hi"}]});
        assert_eq!(home.with(".gemini/tmp/work/chats/session-1-99999999.json", &text.to_string()).due(), 2);
    }

    #[test]
    fn count_due_follows_settings() {
        let rows = [
            (r#"{}"#, 1),
            (r#"{"enabled": false}"#, 0),
            (r#"{"maxAge": "7d"}"#, 2),
            (r#"{"maxAge": "48h"}"#, 3),
            (r#"{"maxAge": "12m"}"#, 0),
            (r#"{"maxCount": 1}"#, 2),
            (r#"{"maxAge": "12m", "maxCount": 2}"#, 1),
            // Nothing is deleted if the rules are invalid.
            (r#"{"maxAge": "7 days"}"#, 0),
            (r#"{"maxAge": "1h"}"#, 0),
            (r#"{"maxAge": "1h", "minRetention": "1h"}"#, 3),
            (r#"{"maxCount": 0}"#, 0),
            (r#"{"maxAge": "", "maxCount": 2}"#, 1),
            (r#"{"maxAge": ""}"#, 0),
        ];
        for (retention, expected) in rows {
            let user = format!("// mine\n{{\"general\": {{\"sessionRetention\": {retention} /* all */}}}}");
            assert_eq!(sessions().with(".gemini/settings.json", &user).due(), expected, "{retention}");
        }
        let off = r#"{"general": {"sessionRetention": {"enabled": false}}}"#;
        let week = r#"{"general": {"sessionRetention": {"enabled": true, "maxAge": "1w"}}}"#;
        let both = sessions().with(".gemini/settings.json", off).with("work/.gemini/settings.json", week);
        assert_eq!(both.due(), 2);
        assert_eq!(sessions().with(".gemini/settings.json", "{").due(), 0);
    }

    #[test]
    fn without_comments_keeps_strings() {
        let text = "{ \"a\": \"// \\\" /* b */\", /* c\n*/ \"d\": 1 } // e";
        let parsed: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(parsed, json!({"a": "// \" /* b */", "d": 1}));
    }

    proptest::proptest! {
        #[test]
        fn parsers_never_panic(text in ".*") {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("session-1-aaaaaaaa.jsonl");
            fs::write(&path, &text).unwrap();
            let _ = (read_session(&path), parse_period(&text), without_comments(&text));
        }
    }
}
