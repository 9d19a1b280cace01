//! Sessions of which only the prompts are left.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{CancellationToken, budget::Budget};
use openagents_transcripts::{
    history::{
        EventKind, GoneReason, History, HistoryRoots, MemoryListingCache, Provider, Query, SearchQuery, Span,
        Transcript,
    },
    history_index::HistoryIndex,
};
use serde_json::json;
use std::{fs, ops::ControlFlow, path::Path, sync::Arc, time::Duration};

const WITH_LOG: &str = "6f1b1f2e-2222-4000-8000-000000000001";
const WITHOUT: &str = "6f1b1f2e-2222-4000-8000-000000000002";
const CODEX: &str = "0199a2b4-1111-7000-8000-000000000003";

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

fn write(path: &Path, lines: &[serde_json::Value]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

fn prompts_of(history: &History, row: &Transcript) -> Vec<String> {
    let mut prompts = Vec::new();
    let read = history.read_transcript(row, Span::with_long_lines(), &budget(), &mut |event| {
        assert_eq!(event.kind, EventKind::Prompt);
        prompts.push(event.text);
        ControlFlow::Continue(())
    });
    read.unwrap();
    prompts
}

#[test]
fn prompts_of_deleted_sessions_are_listed_read_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let typed = |id, at: i64, text| json!({"display": text, "pastedContents": {}, "timestamp": at, "project": "/w", "sessionId": id});
    write(
        &base.join("claude/history.jsonl"),
        &[
            typed(WITH_LOG, 1, "Still here"),
            typed(WITHOUT, 2_000, "Paint the aubergine"),
            typed(WITHOUT, 3_000, "Now green"),
        ],
    );
    let log = base.join(format!("claude/projects/-w/{WITH_LOG}.jsonl"));
    write(&log, &[json!({"type": "user", "cwd": "/w", "message": {"content": "Still here"}})]);
    let codex = |ts: i64, text| json!({"session_id": CODEX, "ts": ts, "text": text});
    write(&base.join("codex/history.jsonl"), &[codex(4, "Count the cucumbers")]);
    let roots = HistoryRoots::default()
        .with(Provider::ClaudeCode, base.join("claude"))
        .with(Provider::Codex, base.join("codex"));
    let history = History::new(roots, Arc::new(MemoryListingCache::default()));
    let ids = |all| {
        let rows = history.list(&Query { all, ..Query::default() }, &budget()).rows;
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(false), [WITH_LOG]);
    assert_eq!(ids(true), [WITH_LOG, CODEX, WITHOUT]);

    let row = history.find(WITHOUT, Some(Provider::ClaudeCode), &budget()).unwrap();
    assert_eq!(row.gone.unwrap().reason, GoneReason::PromptsOnly);
    assert_eq!(
        (row.title.as_deref(), row.cwd.as_deref(), row.created_at, row.updated_at, row.user_turns),
        (Some("Paint the aubergine"), Some(Path::new("/w")), Some(2_000), 3_000, Some(2))
    );
    assert_eq!(prompts_of(&history, &row), ["Paint the aubergine", "Now green"]);
    let of_codex = history.find(CODEX, None, &budget()).unwrap();
    assert_eq!(prompts_of(&history, &of_codex), ["Count the cucumbers"]);

    let index = HistoryIndex::open(&base.join("home")).unwrap();
    index.update(&history, &CancellationToken::new(), &mut |_| true).unwrap();
    for (query, id) in [("aubergine", WITHOUT), ("cucumbers", CODEX)] {
        let found = index.search(query, 10, 5_000, None, &history).unwrap();
        let sessions: Vec<_> = found.passages.iter().map(|passage| &passage.session).collect();
        assert_eq!(sessions.len(), 1, "{query}");
        assert_eq!(
            (sessions[0].id.as_str(), sessions[0].gone.unwrap().reason),
            (id, GoneReason::PromptsOnly)
        );
    }

    let query = SearchQuery {
        pattern: "aubergine".to_owned(),
        max_matches: 10,
        line_chars: 100,
        file_bytes: 1 << 20,
        total_bytes: 1 << 20,
        ..SearchQuery::default()
    };
    let found = history.search(&query, &budget(), &budget(), &()).unwrap();
    let found: Vec<_> = found.matches.iter().map(|found| found.session_id.as_str()).collect();
    assert_eq!(found, [WITHOUT]);

    // Its log is deleted too.
    fs::remove_file(log).unwrap();
    assert_eq!(ids(true), [CODEX, WITHOUT, WITH_LOG]);
}
