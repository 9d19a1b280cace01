//! Claude Code deletes the transcripts of all projects that were last written more than `cleanupPeriodDays` (30) ago.
//! It does so 5 s after any of its processes starts, at most once a day; `.last-cleanup` records when.
//!
//! Taken from the code of Claude Code 2.1.330 and tested with it. The settings:
//! <https://code.claude.com/docs/en/settings>.

use super::place::{DAY, Place, read_settings};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

const DEFAULT_DAYS: u64 = 30;

/// An organization's settings.
const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};

/// Bytes at the beginning and at the end of a transcript in which Claude Code searches for the program that wrote it.
const ENDS: usize = 64 << 10;

/// Programs whose transcripts are kept, unless `desktopSessionCleanupPeriodDays` is set.
const DESKTOP: [&str; 4] = ["claude-desktop", "claude-desktop-3p", "local-agent", "local_agent"];

pub(super) fn count_due(place: &Place<'_>) -> usize {
    let Some(home) = place.folder("CLAUDE_CONFIG_DIR", ".claude") else { return 0 };
    let swept = fs::metadata(home.join(".last-cleanup")).and_then(|marker| marker.modified());
    if swept.is_ok_and(|swept| place.before(DAY).is_none_or(|yesterday| swept > yesterday)) {
        return 0;
    }
    let Some((period, desktop)) = periods(&home, place.workspace) else { return 0 };
    let Some(cutoff) = days_ago(place, period) else { return 0 };
    let desktop = desktop.and_then(|period| days_ago(place, period));
    let projects = fs::read_dir(home.join("projects")).into_iter().flatten().flatten();
    let transcripts =
        projects.flat_map(|project| fs::read_dir(project.path()).into_iter().flatten().flatten());
    transcripts.filter(|file| is_due(&file.path(), cutoff, desktop)).count()
}

pub(super) fn period(place: &Place<'_>) -> Option<Duration> {
    let (days, _) = periods(&place.folder("CLAUDE_CONFIG_DIR", ".claude")?, place.workspace)?;
    DAY.checked_mul(u32::try_from(days).ok()?)
}

pub(super) fn is_managed() -> bool {
    let settings = read_settings(&[PathBuf::from(MANAGED)], |text| serde_json::from_str(text).ok());
    settings.unwrap_or_default().iter().any(|settings: &Value| settings.get("cleanupPeriodDays").is_some())
}

fn days_ago(place: &Place<'_>, days: u64) -> Option<SystemTime> {
    place.before(DAY.checked_mul(u32::try_from(days).ok()?)?)
}

/// Returns the number of days that transcripts are kept, and the number for the desktop app if it is limited. `None`
/// if nothing is deleted because the settings are invalid.
fn periods(home: &Path, workspace: &Path) -> Option<(u64, Option<u64>)> {
    let user = home.join("settings.json");
    let local = workspace.join(".claude");
    let files = [
        user.clone(),
        local.join("settings.json"),
        local.join("settings.local.json"),
        PathBuf::from(MANAGED),
    ];
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    let settings = read_settings(&files, parse)?;
    let last = settings.iter().filter_map(|settings| settings.get("cleanupPeriodDays")).next_back();
    let period = match last {
        None => DEFAULT_DAYS,
        Some(days) => days.as_u64().filter(|days| *days > 0)?,
    };
    let of_user = read_settings(&[user], parse)?.pop().unwrap_or_default();
    let desktop = of_user["desktopSessionCleanupPeriodDays"].as_u64().filter(|days| *days > 0);
    Some((period, desktop.map(|days| days.max(period))))
}

fn is_due(path: &Path, cutoff: SystemTime, desktop: Option<SystemTime>) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    // Transcripts of subagents belong to a session.
    if !name.ends_with(".jsonl") || name.starts_with("agent-") {
        return false;
    }
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let Ok(written) = metadata.modified() else { return false };
    if !metadata.is_file() || metadata.len() == 0 || written >= cutoff {
        return false;
    }
    desktop.is_some_and(|desktop| written < desktop) || !is_of_desktop(path).unwrap_or(true)
}

/// Returns whether the desktop app started or continued a session.
fn is_of_desktop(path: &Path) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    let mut first = Vec::new();
    file.by_ref().take(ENDS as u64).read_to_end(&mut first)?;
    let size = file.metadata()?.len();
    let mut last = Vec::new();
    file.seek(SeekFrom::Start(size.saturating_sub(ENDS as u64)))?;
    file.take(ENDS as u64).read_to_end(&mut last)?;
    let entry =
        |line: &str| serde_json::from_str::<Value>(line).ok()?["entrypoint"].as_str().map(str::to_owned);
    let (first, last) = (String::from_utf8_lossy(&first), String::from_utf8_lossy(&last));
    let entries = [first.lines().find_map(entry), last.lines().rev().find_map(entry)];
    Ok(entries.into_iter().flatten().any(|entry| DESKTOP.contains(&entry.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Home {
        keep: tempfile::TempDir,
        now: SystemTime,
    }

    impl Home {
        fn new() -> Self {
            Self { keep: tempfile::tempdir().unwrap(), now: SystemTime::now() }
        }

        /// Writes a file with an age of `days`.
        fn with(self, path: &str, text: &str, days: f64) -> Self {
            let path = self.keep.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let written = self.now - Duration::from_secs_f64(days * DAY.as_secs_f64());
            File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
            self
        }

        fn due(&self) -> usize {
            let folder = |name: &str| self.keep.path().join(name);
            let home = folder("claude").display().to_string();
            let variable = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| home.clone());
            count_due(&Place { variable: &variable, workspace: &folder("work"), now: self.now })
        }
    }

    fn transcripts() -> Home {
        Home::new()
            .with("claude/projects/-a/1.jsonl", "{}\n", 31.0)
            .with("claude/projects/-b/2.jsonl", "{}\n", 400.0)
            .with("claude/projects/-b/3.jsonl", "{}\n", 29.0)
            .with("claude/projects/-b/4.jsonl", "{}\n", 8.0)
            .with("claude/projects/-b/agent-5.jsonl", "{}\n", 400.0)
            .with("claude/projects/-b/2/tool-results/x.jsonl", "{}\n", 400.0)
            .with("claude/projects/-b/empty.jsonl", "", 400.0)
            .with("claude/projects/-b/memory.md", "x", 400.0)
            .with("claude/history.jsonl", "{}\n", 400.0)
    }

    #[test]
    fn count_due_counts_old_transcripts() {
        assert_eq!(Home::new().due(), 0);
        assert_eq!(transcripts().due(), 2);
    }

    #[test]
    fn count_due_is_zero_after_recent_cleanup() {
        for (days, expected) in [(0.1, 0), (0.9, 0), (1.1, 2)] {
            assert_eq!(transcripts().with("claude/.last-cleanup", "", days).due(), expected, "{days}");
        }
    }

    #[test]
    fn count_due_follows_settings() {
        let rows = [
            (&[("claude/settings.json", r#"{"cleanupPeriodDays": 7}"#)][..], 4),
            (&[("claude/settings.json", r#"{"cleanupPeriodDays": 3650}"#)], 0),
            (&[("claude/settings.json", r#"{"permissions": {}}"#)], 2),
            (&[("work/.claude/settings.json", r#"{"cleanupPeriodDays": 7}"#)], 4),
            (
                &[
                    ("claude/settings.json", r#"{"cleanupPeriodDays": 7}"#),
                    ("work/.claude/settings.json", r#"{"cleanupPeriodDays": 1000}"#),
                    ("work/.claude/settings.local.json", r#"{"cleanupPeriodDays": 60}"#),
                ],
                1,
            ),
            // Nothing is deleted if the settings are invalid.
            (&[("claude/settings.json", r#"{"cleanupPeriodDays": 0}"#)], 0),
            (&[("claude/settings.json", r#"{"cleanupPeriodDays": "7"}"#)], 0),
            (&[("claude/settings.json", "{")], 0),
            (&[("claude/settings.json", "[]")], 0),
        ];
        for (files, expected) in rows {
            let home = files.iter().fold(transcripts(), |home, (path, text)| home.with(path, text, 0.0));
            assert_eq!(home.due(), expected, "{files:?}");
        }
    }

    #[test]
    fn count_due_skips_desktop_transcripts() {
        let row = |entrypoint: &str| format!("{{\"type\":\"user\",\"entrypoint\":\"{entrypoint}\"}}\n");
        let long = "{\"type\":\"assistant\"}\n".repeat(10_000);
        let home = || {
            Home::new()
                .with(
                    "claude/projects/-a/begun.jsonl",
                    &format!("{{}}\n{}{long}", row("claude-desktop")),
                    40.0,
                )
                .with(
                    "claude/projects/-a/continued.jsonl",
                    &format!("{}{long}{}", row("cli"), row("local-agent")),
                    40.0,
                )
                .with(
                    "claude/projects/-a/between.jsonl",
                    &format!("{}{long}{}{long}", row("cli"), row("claude-desktop")),
                    40.0,
                )
                .with("claude/projects/-a/sdk.jsonl", &row("sdk-ts"), 40.0)
        };
        assert_eq!(home().due(), 2);
        let limited = |days: u64| {
            let settings = format!("{{\"desktopSessionCleanupPeriodDays\": {days}}}");
            home().with("claude/settings.json", &settings, 0.0).due()
        };
        assert_eq!([0, 7, 35, 50].map(limited), [2, 4, 4, 2]);
    }
}
