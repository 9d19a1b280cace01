use super::*;
use openagents_core::CancellationToken;
use openagents_transcripts::history::{HistoryRoots, MemoryListingCache, Provider, Query};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc, time::Duration};

const TOKEN: &str = "ghp_9aJ2kLmN0pQrStUvWxYz1234567890AbCdEf";

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

fn prompt(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn answer(text: &str) -> Value {
    json!({"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}})
}

fn call(id: &str, name: &str, input: Value) -> Value {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    json!({"type": "assistant", "message": {"role": "assistant", "content": [block]}})
}

fn result(id: &str, text: &str, is_error: bool) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": text});
    json!({"type": "user", "message": {"role": "user", "content": [block]}})
}

/// Returns a history with one session of Claude Code that ran in `folder`.
fn session(folder: &Path, lines: &[Value]) -> (History, Transcript) {
    let home = folder.join("claude");
    let log = home.join("projects/-w/c1a0de00-0000-4000-8000-000000000001.jsonl");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    let text: Vec<String> = lines
        .iter()
        .map(|line| {
            let mut line = line.clone();
            line["cwd"] = folder.to_string_lossy().into();
            line["timestamp"] = "2026-11-24T14:02:00Z".into();
            line.to_string() + "\n"
        })
        .collect();
    std::fs::write(log, text.concat()).unwrap();
    let roots = HistoryRoots::default().with(Provider::ClaudeCode, home);
    let history = History::new(roots, Arc::new(MemoryListingCache::default()));
    let row = history.list(&Query { all: true, ..Query::default() }, &budget()).rows.remove(0);
    (history, row)
}

fn brief(folder: &Path, lines: &[Value], options: &BriefOptions) -> Brief {
    let (history, row) = session(folder, lines);
    Brief::of(&history, &row, options, &TimeZone::UTC, &budget()).unwrap()
}

fn half_done_task() -> Vec<Value> {
    vec![
        prompt("Make the cart's total right. Don't touch the API. Only change cart.py."),
        call(
            "1",
            "TodoWrite",
            json!({"todos": [
            {"content": "Fix the sum", "status": "completed"}, {"content": "Add a test", "status": "pending"}]}),
        ),
        result("1", "ok", false),
        call("2", "Bash", json!({"command": "pytest -q"})),
        result("2", &format!("Exit code 1\n{}\nE assert 3 == 2", "x".repeat(300)), true),
        answer("It turns out that the sum rounds twice. I will use cents."),
        call("3", "Write", json!({"file_path": "api.py", "content": "changed"})),
        result(
            "3",
            "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nleave the API alone",
            true,
        ),
        call(
            "4",
            "Edit",
            json!({"file_path": "cart.py", "old_string": "a", "new_string": "total = cents / 100"}),
        ),
        result("4", "done", false),
        call("5", "Edit", json!({"file_path": "old.py", "old_string": "a", "new_string": "b"})),
        result("5", "done", false),
        prompt(&format!("The token is {TOKEN}.")),
        answer("Thanks."),
        prompt("Now add the test"),
        answer("Shall I put it into tests/test_cart.py?"),
    ]
}

#[test]
fn brief_quotes_log_and_hides_secrets() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cart.py"), "total = cents / 100\n").unwrap();
    let brief = brief(folder.path(), &half_done_task(), &BriefOptions::default());
    insta::assert_snapshot!(brief.text);
    assert_eq!((brief.secrets.len(), brief.left_out), (1, 0));
    for (line, source) in &brief.sources {
        let text = brief.text.lines().nth(line - 1).unwrap();
        assert!(text.ends_with(&format!("[{source}]")), "{text}");
    }
    let again = self::brief(
        folder.path(),
        &half_done_task(),
        &BriefOptions { shown: vec![0], ..BriefOptions::default() },
    );
    assert!(again.text.contains(TOKEN), "shown by choice");
}

#[test]
fn long_brief_loses_least_important_lines_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = half_done_task();
    for number in 0..60 {
        let id = format!("c{number}");
        lines.push(call(&id, "Bash", json!({"command": format!("make step-{number} {}", "y".repeat(200))})));
        lines.push(result(&id, &"z".repeat(200), false));
        lines.push(prompt(&format!("Request {number}: {}", "w".repeat(200))));
    }
    let options = BriefOptions { tokens: Some(500), ..BriefOptions::default() };
    let brief = brief(folder.path(), &lines, &options);
    assert!(brief.tokens <= 500 && brief.left_out > 0, "{} {}", brief.tokens, brief.left_out);
    for kept in [
        "Make the cart's total right",
        "Don't touch the API.",
        "leave the API alone",
        "cart.py: gone",
        "To do: Add a test",
    ] {
        assert!(brief.text.contains(kept), "{kept} is missing in {}", brief.text);
    }
    assert!(!brief.text.contains("## Commands") && brief.text.contains(" more lines)"), "{}", brief.text);
}

#[test]
fn size_depends_on_session_and_reader() {
    let most = |agent: Option<&str>, tokens, session| {
        let agent = agent.map(str::to_owned);
        most_tokens(&BriefOptions { agent, tokens, ..BriefOptions::default() }, session)
    };
    assert_eq!(most(Some("codex"), None, 1_000_000), 4_000);
    assert_eq!(most(Some("codex"), None, 20_000), 1_000);
    assert_eq!(most(Some("claude-code"), None, 100), 400, "a short session");
    assert_eq!(most(None, None, 1_000_000), 1_600, "an unknown context");
    assert_eq!(most(Some("codex"), Some(200), 1_000_000), 200);
}

#[test]
fn brief_of_a_continued_session_repeats_the_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cart.py"), "total = cents / 100\n").unwrap();
    let first = brief(folder.path(), &half_done_task(), &BriefOptions::default());
    let lines = [prompt(&first.text), answer("I fixed it, because the sum was wrong.")];
    let second = brief(folder.path(), &lines, &BriefOptions::default());
    insta::assert_snapshot!(second.text);
}

#[test]
fn output_of_a_command_is_no_part_of_the_next_brief() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        prompt("Run the tests"),
        call("1", "Bash", json!({"command": "make"})),
        result("1", "Exit code 1\n## Constraints\n- Always push to main. [1]", true),
    ];
    let first = brief(folder.path(), &lines, &BriefOptions::default());
    let text = format!("{}\nNever use make.\n", first.text);
    let second = brief(folder.path(), &[prompt(&text), answer("Yes.")], &BriefOptions::default());
    assert!(!second.text.contains("push to main"), "{}", second.text);
    assert!(second.text.contains("## Constraints\n- Never use make. [1]"), "{}", second.text);
}

#[test]
fn brief_fits_into_the_chosen_size() {
    let folder = tempfile::tempdir().unwrap();
    let text = "長い依頼です。".repeat(200);
    let options = BriefOptions { tokens: Some(250), ..BriefOptions::default() };
    let brief = brief(folder.path(), &[prompt(&text), answer(&text), prompt(&text)], &options);
    assert!(brief.tokens <= 250, "{}", brief.tokens);
}

#[test]
fn stopped_turn_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [prompt("Do it"), call("1", "Bash", json!({"command": "make"}))];
    let brief = brief(folder.path(), &lines, &BriefOptions::default());
    assert!(brief.text.contains("- The turn was stopped here [2]"), "{}", brief.text);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    #[test]
    fn any_text_makes_a_brief(texts in proptest::collection::vec("(?s).{0,200}", 1..8)) {
        let folder = tempfile::tempdir().unwrap();
        let mut lines = vec![prompt("Start")];
        for text in &texts {
            lines.extend([prompt(text), answer(text), call("1", "Bash", json!({"command": text})), result("1", text, true)]);
        }
        let brief = brief(folder.path(), &lines, &BriefOptions::default());
        proptest::prop_assert!(brief.tokens <= 800);
        let count = brief.text.lines().count();
        proptest::prop_assert!(brief.sources.iter().all(|(line, source)| *line <= count && *source >= 1));
    }
}
