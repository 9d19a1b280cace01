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

/// Feeds a text in pieces of `size` characters.
fn play(grounding: &Grounding, text: &str, size: usize) -> String {
    let mut filter = Filter::new(grounding);
    let letters: Vec<char> = text.chars().collect();
    let mut shown = String::new();
    for piece in letters.chunks(size) {
        shown.push_str(&filter.push(&piece.iter().collect::<String>()));
    }
    shown + &filter.finish()
}

#[test]
fn citations_that_fail_are_struck_and_others_stay() {
    let bench = bench();
    let rows = [
        ("The redirect is followed in `src/policy.rs:10`.", 1, None),
        ("The redirect is followed (src/policy.rs:9-10).\nNext.", 1, None),
        ("Redirects are followed.\n\n- `src/policy.rs#L9`", 1, None),
        ("src/policy.rs:9", 1, None),
        ("The redirect (`src/policy.rs:11`) is.", 0, Some("The redirect is.")),
        ("The redirect (`src/policy.rs:9-11`) is.", 0, Some("The redirect is.")),
        ("The redirect (`src/policy.rs:0`) is.", 0, Some("The redirect is.")),
        ("The redirect (`src/policy.rs:1`) is.", 0, Some("The redirect is.")),
        ("The redirect (`src/timer.rs:1`) is.", 0, Some("The redirect is.")),
        ("The redirect (`src/gone.rs:1`) is.", 0, Some("The redirect is.")),
        ("The redirect (`../other/a.rs:1`) is.", 0, Some("The redirect is.")),
        ("The redirect (`/etc/passwd:1`) is.", 0, Some("The redirect is.")),
        ("The redirect (session abc123:7) is.", 0, Some("The redirect is.")),
        (
            "Redirects:\n- src/gone.rs:1\n- `src/policy.rs:10` follows",
            1,
            Some("Redirects:\n- `src/policy.rs:10` follows"),
        ),
        ("```rust src/gone.rs:1\nsrc/gone.rs:2\n```\nEnd", 0, Some("```rust\nsrc/gone.rs:2\n```\nEnd")),
        ("~~~\nsrc/gone.rs:2\n```\nsrc/gone.rs:3\n~~~\n", 0, None),
        ("Waits: src/timer.rs:1, src/timer.rs:2\r\nEnd", 1, Some("Waits: src/timer.rs:1\r\nEnd")),
    ];
    for (text, confirmed, expected) in rows {
        for size in [1, 3, 7, 1_000] {
            let grounding = grounding(&bench);
            assert_eq!(play(&grounding, text, size), expected.unwrap_or(text), "{size}");
            assert_eq!(grounding.confirmed.get(), confirmed, "{text}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_workspace_confirms_nothing() {
    let bench = bench();
    std::os::unix::fs::symlink("/etc", bench.root().join("etc")).unwrap();
    let grounding = grounding(&bench);
    assert_eq!(play(&grounding, "The root user (etc/passwd:1) is.", 9), "The root user is.");
}

#[test]
fn words_go_through_before_their_line_ends() {
    let bench = bench();
    let grounding = grounding(&bench);
    let mut filter = Filter::new(&grounding);
    assert_eq!(filter.push("Redirects are followed by the policy in the"), "Redirects are followed by");
    assert_eq!(filter.push(" file `src/gone.rs"), " the policy");
    assert_eq!(filter.push(":1` and"), "");
    assert_eq!(filter.push(" nowhere.\n"), " in the file and nowhere.\n");
}

#[test]
fn the_end_says_what_was_left_out() {
    let bench = bench();
    let rows: [(&str, &str); 5] = [
        ("Redirects: src/policy.rs:9", ""),
        (
            "Redirects: src/policy.rs:9, src/gone.rs:1",
            "\n\n_1 citation could not be confirmed and was left out._",
        ),
        ("Redirects.", "\n\n_Not grounded: no place in the workspace was cited for this answer._"),
        (
            "Redirects: a/gone.rs:1, b/gone.rs:1",
            "\n\n_2 citations could not be confirmed and were left out._\n\n_Not grounded: no place in the workspace was cited for this answer._",
        ),
        ("```\ncode", "\n```\n\n_Not grounded: no place in the workspace was cited for this answer._"),
    ];
    for (text, expected) in rows {
        let grounding = grounding(&bench);
        let mut filter = Filter::new(&grounding);
        filter.push(text);
        filter.finish();
        assert_eq!(filter.postscript(), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn text_without_citations_is_unchanged(
        text in "([a-z]{1,8}|[ \n]|\\PC|```|~~~|- |\\(|\\)|\\[|`|12:30|http://x:80|: |\\. |é|界|\r\n){0,60}",
        size in 1_usize..40,
    ) {
        let bench = Bench::with(&[]);
        let grounding = grounding(&bench);
        let shown = play(&grounding, &text, size);
        prop_assume!(grounding.struck.get() == 0);
        prop_assert_eq!(shown, text);
    }

    /// Shown text cannot be taken back, so the size of the pieces must not matter.
    #[test]
    fn the_size_of_the_pieces_does_not_matter(
        text in "(redirects|follow |\\. |, |- |\n|\\(|\\)|\\[|\\]|`|src/policy.rs:9|src/gone.rs:1|session abc123:4|see ){0,30}",
        size in 1_usize..20,
    ) {
        let bench = bench();
        let (whole, pieces) = (grounding(&bench), grounding(&bench));
        prop_assert_eq!(play(&pieces, &text, size), play(&whole, &text, 10_000));
    }
}
