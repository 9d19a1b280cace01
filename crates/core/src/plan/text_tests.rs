use super::*;

fn shown(text: &str) -> Vec<String> {
    parse_text_plan(text).ops.iter().map(OpKind::entry_text).collect()
}

#[test]
fn all_seven_kinds_are_read() {
    let text = "sessionList claude-code\nsessionSearch \"TODO\"\nsessionRead session abc123\nsessionAnalyze\n\
                Read README.md 1-50\ngrep \"import\" in src\nlistDir src\n";
    let expected = [
        "List 20 claude-code sessions",
        "Search 'TODO' in all sessions",
        "Read session abc1… (claude-code)",
        "Analyze recent sessions",
        "Read README.md:1-50",
        "Search 'import' in src",
        "List directory src",
    ];
    assert_eq!(shown(text), expected);
}

#[test]
fn form_does_not_matter() {
    let rows = [
        ("1. sessionList", "List 20 all sessions"),
        ("1. `readSpan README.md 1-20`", "Read README.md:1-20"),
        ("2) List the last 10 codex sessions", "List 10 codex sessions"),
        ("- SESSIONLIST top 5", "List 5 all sessions"),
        ("* session.list {\"topK\": 7, \"provider\": \"claude_code\"}", "List 7 claude-code sessions"),
        ("2. sessionSearch \"TODO\"", "Search 'TODO' in all sessions"),
        ("Search for 'race condition' in codex sessions", "Search 'race condition' in codex sessions"),
        ("sessionSearch(pattern: \"x y\", provider: \"codex\")", "Search 'x y' in codex sessions"),
        (
            "{\"op\":\"sessionSearch\",\"pattern\":\"x\",\"provider\":\"codex\"}",
            "Search 'x' in codex sessions",
        ),
        ("sessionRead 0199a213-81c0-7800-8aa1-bbab2a035a53 codex", "Read session 0199… (codex)"),
        ("Read session abc123", "Read session abc1… (claude-code)"),
        ("- Analyze recent sessions", "Analyze recent sessions"),
        ("**sessionAnalyze**", "Analyze recent sessions"),
        ("- Read README.md 1-50", "Read README.md:1-50"),
        ("readSpan src/main.rs 1..40", "Read src/main.rs:1-40"),
        ("readSpan src/main.rs:10-20", "Read src/main.rs:10-20"),
        ("Read lines 5 to 9 of `src/a b.rs`", "Read src/a b.rs:5-9"),
        ("readSpan(path=src/lib.rs, startLine: 3, endLine: 8)", "Read src/lib.rs:3-8"),
        ("Read src/session_store.rs", "Read src/session_store.rs:1-100"),
        ("grep \"import\" in src", "Search 'import' in src"),
        ("Grep TODO", "Search 'TODO' in workspace"),
        ("grep 'session' in crates/core", "Search 'session' in crates/core"),
        ("Search for \"fn main\" in .", "Search 'fn main' in ."),
        (
            "{\"tool\":\"search.grep\",\"arguments\":{\"pattern\":\"x\",\"path_prefix\":\"src\"}},",
            "Search 'x' in src",
        ),
        ("listDir src", "List directory src"),
        ("listDir .", "List directory ."),
        ("listDir", "List directory ."),
        ("List directory docs/", "List directory docs/"),
        ("Step 3: List the folder src", "List directory src"),
    ];
    for (line, expected) in rows {
        assert_eq!(shown(line), [expected], "{line}");
    }
}

#[test]
fn what_is_not_understood_is_dropped_and_counted() {
    let plan = parse_text_plan("Here is the plan:\n\n---\nsessionSearch\nmake coffee\nlistDir src\n");
    assert_eq!((plan.ops.len(), plan.dropped), (1, 3));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*", words in proptest::collection::vec(
        proptest::sample::select(vec!["grep", "\"", "'", "`", "{", "}", "in", "Read", "1-50", ":", "sessionRead",
            "session", "“", "‘", "é", "\n", "..", "list", "18446744073709551616-1"]), 0..12)) {
        parse_text_plan(&text);
        parse_text_plan(&words.join(" "));
        parse_text_plan(&words.concat());
    }
}
