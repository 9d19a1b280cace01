//! The overview of a workspace: its facts with their places, its map, and what git says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::find::{Files, ask, tree};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    update::{CodeMap, Overview, OverviewTopic},
    workspace::Workspace,
};
use openagents_search::{find::TIME, overview};
use std::{path::Path, process::Command};

fn survey(folder: &Path) -> Overview {
    let workspace = Workspace::open_for(folder, None).unwrap();
    overview(&workspace, None, &Budget::within(TIME, &CancellationToken::new()))
}

fn facts(overview: &Overview, topic: OverviewTopic) -> Vec<String> {
    overview
        .block(topic)
        .map(|block| block.facts.iter().map(|fact| fact.markdown()).collect())
        .unwrap_or_default()
}

/// Runs git without the user's settings.
fn git(folder: &Path, arguments: &[&str]) {
    let own = ["-c", "user.name=Ida Lewis", "-c", "user.email=ida@example.org"];
    let status = Command::new("git")
        .args(own)
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_COMMITTER_DATE", "2026-03-02T10:00:00Z")
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}

const LAYERED: &Files = &[
    ("Cargo.toml", "[package]\nname = \"layered\"\ndescription = \"Shows layers.\"\n"),
    ("README.md", "# layered\n\nA project with layers, for tests.\n\n```sh\ncargo test --workspace\n```\n"),
    (
        "src/main.rs",
        "//! The program.\nuse crate::page::show;\nfn main() { show(std::env::var(\"LAYERED_HOME\")); }\n",
    ),
    ("src/page/mod.rs", "//! What the user sees.\nuse crate::model::load;\npub fn show() { load(); }\n"),
    ("src/page/menu.rs", "//! The menu.\nuse crate::model::Item;\n"),
    ("src/model/mod.rs", "//! What is stored.\nuse crate::disk::read;\npub fn load() { read(); }\n"),
    ("src/model/item.rs", "//! One item.\npub struct Item;\n"),
    ("src/disk/mod.rs", "//! Reads files.\nuse crate::net::fetch;\npub fn read() {}\n"),
    ("src/disk/cache.rs", "//! Keeps what was read.\n"),
    ("src/net/mod.rs", "//! Fetches files.\nuse crate::disk::cache;\npub fn fetch() {}\n"),
    ("src/net/retry.rs", "//! Tries again.\n"),
    ("src/clock/mod.rs", "//! The time.\n"),
    ("src/clock/zone.rs", "//! Time zones.\n"),
];

fn layer(map: &CodeMap, path: &str) -> u32 {
    map.nodes.iter().find(|node| node.path == path).unwrap().layer
}

#[test]
fn project_is_described_with_places() {
    let folder = tree(LAYERED);
    let overview = survey(folder.path());
    let purpose = facts(&overview, OverviewTopic::Purpose);
    assert_eq!(purpose[0], "A project with layers, for tests. (`README.md:3`)");
    assert_eq!(purpose[1], "Code, without tests: Rust (23 lines in 11 files)");
    let commands = facts(&overview, OverviewTopic::Commands);
    assert!(commands.contains(&"Test: `cargo test --workspace` (`README.md:6`)".to_owned()), "{commands:?}");
    let start = facts(&overview, OverviewTopic::Start);
    assert!(start.iter().any(|fact| fact.contains("`LAYERED_HOME` (`src/main.rs:3`)")), "{start:?}");
    let structure = facts(&overview, OverviewTopic::Structure);
    assert!(
        structure.iter().any(|fact| fact.starts_with("`src/page/`: What the user sees.")),
        "{structure:?}"
    );
    assert!(
        structure.iter().any(|fact| fact.contains("`src/disk/` and `src/net/` import each other")),
        "{structure:?}"
    );
    assert!(!overview.questions.is_empty() && overview.questions.len() <= 3);
}

#[test]
fn map_has_layers_and_circles() {
    let folder = tree(LAYERED);
    let map = survey(folder.path()).map;
    let order = ["src/main.rs", "src/page/", "src/model/", "src/disk/"].map(|path| layer(&map, path));
    assert!(order.is_sorted_by(|one, other| one < other), "{order:?}");
    let name = |at: u32| map.nodes[at as usize].path.as_str();
    let circles: Vec<_> = map
        .edges
        .iter()
        .filter(|edge| edge.is_circular)
        .map(|edge| (name(edge.from), name(edge.to)))
        .collect();
    assert_eq!(circles.len(), 2, "{circles:?}");
    assert!(circles.contains(&("src/disk/", "src/net/")) && circles.contains(&("src/net/", "src/disk/")));
    // Children follow their folder.
    for (at, node) in map.nodes.iter().enumerate() {
        let Some(parent) = node.parent else { continue };
        assert!(
            node.path.starts_with(&map.nodes[parent as usize].path) && (parent as usize) < at,
            "{node:?}"
        );
    }
}

#[test]
fn folder_without_code_has_no_map() {
    let empty = survey(tree(&[]).path());
    assert_eq!((empty.blocks.len(), empty.map.nodes.len(), empty.truncated), (0, 0, false));
    let prose = survey(tree(&[("notes.txt", "Some notes.\n")]).path());
    assert!(prose.map.nodes.is_empty());
}

#[test]
fn git_tells_commits_authors_and_uncommitted_files() {
    let folder = tree(LAYERED);
    git(folder.path(), &["init", "-q", "-b", "main"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "Start"]);
    for text in ["//! The time, once.\n", "//! The time, twice.\n"] {
        std::fs::write(folder.path().join("src/clock/mod.rs"), text).unwrap();
        git(folder.path(), &["commit", "-q", "-a", "-m", "Set [the clock](https://example.org) `x"]);
    }
    std::fs::write(folder.path().join("src/net/retry.rs"), "//! Tries again, later.\n").unwrap();
    std::fs::write(folder.path().join("src/net/new.rs"), "//! New.\n").unwrap();
    let changes = facts(&survey(folder.path()), OverviewTopic::Changes);
    assert_eq!(changes[..2], ["Not committed: `src/net/new.rs`", "Not committed: `src/net/retry.rs`"]);
    assert!(
        changes[2].contains("the clock") && changes[2].contains("(Ida Lewis, 2026-03-02)"),
        "{changes:?}"
    );
    assert!(!changes[2].contains("]("), "{changes:?}");
    let most = "`src/clock/mod.rs` changed in 2 of the last 3 commits, mostly by Ida Lewis";
    assert!(changes.contains(&most.to_owned()), "{changes:?}");

    let who = ask(folder.path(), "Who knows src/clock/mod.rs?").lead.unwrap();
    assert!(who.starts_with("Ida Lewis changed `src/clock/mod.rs` 2 times in the last 3 commits"), "{who}");
    let next = ask(folder.path(), "What should I work on next?").lead.unwrap();
    assert!(next.contains("Not committed: `src/net/retry.rs`"), "{next}");
}

/// Git's files may name anything: a broken repository, a tree that contains itself many times.
#[test]
fn broken_repository_has_no_changes() {
    let folder = tree(LAYERED);
    git(folder.path(), &["init", "-q"]);
    assert!(facts(&survey(folder.path()), OverviewTopic::Changes).is_empty());
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "Start"]);
    for entry in std::fs::read_dir(folder.path().join(".git/objects")).unwrap().flatten() {
        for object in std::fs::read_dir(entry.path()).unwrap().flatten() {
            std::fs::remove_file(object.path()).unwrap();
        }
    }
    assert!(facts(&survey(folder.path()), OverviewTopic::Changes).is_empty());
}

#[test]
fn hostile_names_stay_in_their_code_spans() {
    let folder = tree(&[
        ("a`b](https://evil.example)/x.rs", "//! [Click](https://evil.example) `now\n"),
        ("a`b](https://evil.example)/y.rs", "use crate::x;\n"),
        ("c/z.rs", "\u{1b}[2J//! c\n"),
        ("c/w.rs", "//! w\u{202e}\n"),
    ]);
    let text = survey(folder.path()).markdown();
    assert!(!text.contains("](https://evil"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
}
