use super::*;
use openagents_core::{CancellationToken, update::Findings, workspace::Workspace};
use openagents_tools::builtin::{self, testing::Bench};
use openagents_transcripts::history::History;
use proptest::prelude::*;
use std::sync::Arc;

const POLICY: &str = "use std::fmt;\n\n\n\n\n\n\n\n/// Follows redirects.\nfn follow_redirect() {}\n";

fn bench() -> Bench {
    Bench::with(&[("src/policy.rs", POLICY), ("src/timer.rs", "fn wait() {}\n")])
}

fn grounding(bench: &Bench) -> Grounding {
    let workspace = Arc::new(Workspace::open(bench.root()).unwrap());
    let tools = builtin::toolbox(Arc::new(History::empty()));
    let cancel = CancellationToken::new();
    Grounding::new(&Findings::default(), "Where are redirects followed?", workspace, &tools, &cancel)
}

const UNGROUNDED: &str = "\n\n_Not grounded: no place in the workspace was cited for this answer._";

#[test]
fn unconfirmed_citations_are_named_below_the_answer() {
    let bench = bench();
    let rows = [
        ("The redirect is followed in `src/policy.rs:10`.", 1, ""),
        ("The redirect is followed (src/policy.rs:9-10).\nNext.", 1, ""),
        ("Redirects are followed.\n\n- `src/policy.rs#L9`", 1, ""),
        ("src/policy.rs:9", 1, ""),
        ("The redirect (`src/policy.rs:11`) is.", 0, "`src/policy.rs:11`"),
        ("The redirect (`src/policy.rs:9-11`) is.", 0, "`src/policy.rs:9-11`"),
        ("The redirect (`src/policy.rs:0`) is.", 0, "`src/policy.rs:0`"),
        ("The redirect (`src/policy.rs:1`) is.", 0, "`src/policy.rs:1`"),
        ("The redirect (`src/timer.rs:1`) is.", 0, "`src/timer.rs:1`"),
        ("The redirect (`src/gone.rs:1`) is.", 0, "`src/gone.rs:1`"),
        ("The redirect (`../other/a.rs:1`) is.", 0, "`../other/a.rs:1`"),
        ("The redirect (`/etc/passwd:1`) is.", 0, "`/etc/passwd:1`"),
        ("The redirect (session abc123:7) is.", 0, "`session abc123:7`"),
        ("Redirects:\n- src/gone.rs:1\n- `src/policy.rs:10` follows", 1, "`src/gone.rs:1`"),
        ("```rust\nsrc/gone.rs:2\n```\nEnd", 0, ""),
        ("~~~\nsrc/gone.rs:2\n```\nsrc/gone.rs:3\n~~~\n", 0, ""),
        ("Waits: src/timer.rs:1, src/timer.rs:2\r\nEnd", 1, "`src/timer.rs:2`"),
        ("Redirects: a/gone.rs:1, b/gone.rs:1", 0, "`a/gone.rs:1`, `b/gone.rs:1`"),
    ];
    for (text, confirmed, unconfirmed) in rows {
        let grounding = grounding(&bench);
        let mut expected = String::new();
        if !unconfirmed.is_empty() {
            expected = format!("\n\n_Could not be confirmed: {unconfirmed}._");
        }
        if confirmed == 0 {
            expected.push_str(UNGROUNDED);
        }
        assert_eq!(grounding.postscript(text), expected, "{text}");
        assert_eq!(grounding.confirmed.get(), confirmed, "{text}");
    }
}

#[test]
fn link_out_of_the_workspace_confirms_nothing() {
    let bench = bench();
    std::os::unix::fs::symlink("/etc", bench.root().join("etc")).unwrap();
    let postscript = grounding(&bench).postscript("The root user (etc/passwd:1) is.");
    assert_eq!(postscript, format!("\n\n_Could not be confirmed: `etc/passwd:1`._{UNGROUNDED}"));
}

#[test]
fn notes_are_short_and_outside_code_blocks() {
    let bench = bench();
    assert_eq!(grounding(&bench).postscript("```\ncode"), format!("\n```{UNGROUNDED}"));
    let many: Vec<_> = (1..=9).map(|line| format!("src/gone.rs:{line}")).collect();
    let postscript = grounding(&bench).postscript(&many.join(" and "));
    assert!(postscript.contains("`src/gone.rs:5` and 4 more._"), "{postscript}");
}

proptest! {
    #[test]
    fn postscript_accepts_any_text(
        text in "([a-z]{1,8}|[ \n]|\\PC|```|~~~|- |\\(|\\)|\\[|`|src/policy.rs:9|src/gone.rs:1|session abc123:4|é|界|\r\n){0,60}",
    ) {
        let bench = bench();
        grounding(&bench).postscript(&text);
    }
}
