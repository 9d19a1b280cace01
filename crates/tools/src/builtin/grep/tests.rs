use crate::builtin::testing::{Bench, call};
use serde_json::{Value, json};

fn lines(value: &Value) -> Vec<String> {
    let matches = value["matches"].as_array().unwrap();
    matches.iter().map(|hit| format!("{}:{}", hit["path"].as_str().unwrap(), hit["line_number"])).collect()
}

#[test]
fn grep_orders_matches_by_path_and_line() {
    let bench =
        Bench::with(&[("b.txt", "x\nfind me\nfind me\n"), ("a/c.txt", "find me"), ("a.txt", "Find me\r\n")]);
    let output = call(&bench, "search.grep", json!({"pattern": "find me"})).unwrap();
    assert_eq!(lines(&output.to_json()), ["a/c.txt:1", "b.txt:2", "b.txt:3"]);
    assert_eq!(output.to_json()["total_matches"], 3);
    let output = call(&bench, "search.grep", json!({"pattern": "find ME", "caseInsensitive": true})).unwrap();
    assert_eq!(output.to_json()["matches"][0], json!({"path": "a.txt", "line_number": 1, "line": "Find me"}));
}

#[test]
fn grep_skips_ignored_hidden_and_binary() {
    let bench = Bench::with(&[
        (".gitignore", "*.log\n"),
        (".ignore", "drafts/\n"),
        ("debug.log", "needle"),
        ("drafts/a", "needle"),
        ("node_modules/x/a.js", "needle"),
        ("target/debug/a", "needle"),
        (".hidden", "needle"),
        ("binary", "needle\0needle"),
        ("late-nul", &format!("needle\n{}\0", "x".repeat(9000))),
        ("src/a", "needle"),
    ]);
    let output = call(&bench, "search.grep", json!({"pattern": "needle"})).unwrap();
    assert_eq!(lines(&output.to_json()), ["late-nul:1", "src/a:1"]);
}

#[test]
fn innermost_ignore_rule_wins() {
    let bench = Bench::with(&[
        (".gitignore", "*.txt\n/only-here\n!.kept\n"),
        ("a.txt", "needle"),
        ("only-here", "needle"),
        (".kept", "needle"),
        ("sub/only-here", "needle"),
        ("sub/.gitignore", "!b.txt\n"),
        ("sub/b.txt", "needle"),
        ("sub/c.txt", "needle"),
        ("sub/.ignore", "d.rs\n"),
        ("sub/d.rs", "needle"),
        ("nested/.git/HEAD", "needle"),
        ("nested/e.txt", "needle"),
    ]);
    let output = call(&bench, "search.grep", json!({"pattern": "needle"})).unwrap();
    assert_eq!(lines(&output.to_json()), [".kept:1", "nested/e.txt:1", "sub/b.txt:1", "sub/only-here:1"]);
}

/// Rule files are untrusted: they must not hang the search, exhaust memory or be followed out of the workspace.
#[test]
fn grep_skips_and_counts_hostile_rule_files() {
    use std::os::unix::fs::symlink;
    let bench = Bench::with(&[("a", "needle"), ("b/a", "needle"), ("c/a", "needle"), ("d/a", "needle")]);
    let outside = bench.root().with_file_name("rules");
    std::fs::write(&outside, "a\n").unwrap();
    let at = |path: &str| bench.root().join(path);
    assert!(std::process::Command::new("mkfifo").arg(at(".gitignore")).status().unwrap().success());
    symlink("/dev/zero", at("b/.ignore")).unwrap();
    symlink(&outside, at("c/.gitignore")).unwrap();
    std::fs::write(at("d/.gitignore"), "#".repeat(300_000)).unwrap();
    std::fs::write(at("d/.git"), "gitdir: /dev/zero").unwrap();
    let output = call(&bench, "search.grep", json!({"pattern": "needle"})).unwrap();
    assert_eq!(lines(&output.to_json()), ["a:1", "b/a:1", "c/a:1", "d/a:1"]);
    assert_eq!(output.cut.omitted, 4);
}

#[test]
fn grep_rejects_oversized_pattern() {
    let error = call(&Bench::with(&[]), "search.grep", json!({"pattern": r"(\w{60}){60}"})).unwrap_err();
    assert!(error.to_string().starts_with("Invalid parameters: Invalid regex pattern"), "{error}");
}

#[test]
fn grep_prefix_accepts_directory_or_file() {
    let bench = Bench::with(&[("src/a", "needle\nneedle"), ("src/deep/b", "needle"), ("c", "needle")]);
    let at = |prefix: &str| {
        let output = call(&bench, "search.grep", json!({"pattern": "needle", "pathPrefix": prefix}));
        output.map(|output| lines(&output.to_json())).map_err(|error| error.to_string())
    };
    assert_eq!(at("src").unwrap(), ["src/a:1", "src/a:2", "src/deep/b:1"]);
    assert_eq!(at("src/a").unwrap(), ["src/a:1", "src/a:2"]);
    assert_eq!(at("/proj/src/deep").unwrap(), ["src/deep/b:1"]);
    assert_eq!(at("nope").unwrap_err(), "File not found: nope");
    assert_eq!(at("/etc").unwrap_err(), "Path outside workspace: /etc");
}

#[test]
fn grep_prefix_applies_rules_above_it() {
    let bench = Bench::with(&[
        (".gitignore", "*.log\n/src/generated/\n"),
        ("src/.ignore", "drafts\n"),
        ("src/a.rs", "needle"),
        ("src/debug.log", "needle"),
        ("src/deep/debug.log", "needle"),
        ("src/deep/b.rs", "needle"),
        ("src/deep/drafts/c.rs", "needle"),
        ("src/generated/deep/d.rs", "needle"),
        (".github/e.yml", "needle"),
        ("nested/.git/HEAD", "needle"),
        ("nested/logs/f.log", "needle"),
    ]);
    let at = |prefix: &str| {
        let arguments = json!({"pattern": "needle", "pathPrefix": prefix});
        lines(&call(&bench, "search.grep", arguments).unwrap().to_json())
    };
    assert_eq!(at("."), ["nested/logs/f.log:1", "src/a.rs:1", "src/deep/b.rs:1"]);
    assert_eq!(at("src"), ["src/a.rs:1", "src/deep/b.rs:1"]);
    assert_eq!(at("src/deep"), ["src/deep/b.rs:1"]);
    assert_eq!(at("src/deep/drafts"), [""; 0]);
    assert_eq!(at("src/generated/deep"), [""; 0]);
    assert_eq!(at("nested/logs"), ["nested/logs/f.log:1"]);
    // A path requested by name is searched unless a rule file excludes it.
    assert_eq!(at(".github"), [".github/e.yml:1"]);
    assert_eq!(at("src/debug.log"), ["src/debug.log:1"]);
}

#[test]
fn grep_cap_is_stable_and_total_exact() {
    let files: Vec<_> = (0..40).map(|n| (format!("f{n:02}"), "needle\n".repeat(20))).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let bench = Bench::with(&files);
    let first = call(&bench, "search.grep", json!({"pattern": "needle", "maxResults": 25})).unwrap();
    assert_eq!(lines(&first.to_json()).len(), 25);
    assert_eq!(lines(&first.to_json())[24], "f01:5");
    assert_eq!(
        (&first.to_json()["total_matches"], first.cut.truncated, first.cut.timed_out),
        (&json!(800), true, false)
    );
    for _ in 0..20 {
        let again = call(&bench, "search.grep", json!({"pattern": "needle", "maxResults": 25})).unwrap();
        assert_eq!((again.to_json(), again.cut), (first.to_json(), first.cut));
    }
    let all = call(&bench, "search.grep", json!({"pattern": "needle", "maxResults": 5000})).unwrap();
    assert_eq!(lines(&all.to_json()).len(), 200, "no caller gets more than the limit");
}

#[test]
fn grep_adds_context_lines() {
    let bench = Bench::with(&[("a", "1\n2\nhit 3\n4\nhit 5\n6\n7\n8\n9\nhit 10\n")]);
    let output = call(&bench, "search.grep", json!({"pattern": "hit", "contextLines": 2})).unwrap();
    let around: Vec<_> = output.to_json()["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["context_before"].clone(), hit["context_after"].clone()))
        .collect();
    assert_eq!(
        around,
        [
            (json!(["1", "2"]), json!(["4", "hit 5"])),
            (json!(["hit 3", "4"]), json!(["6", "7"])),
            (json!(["8", "9"]), Value::Null),
        ]
    );
}

#[test]
fn grep_cuts_long_line_at_char_boundary() {
    let bench = Bench::with(&[("a", &format!("needle{}", "é".repeat(900)))]);
    let output = call(&bench, "search.grep", json!({"pattern": "needle"})).unwrap();
    let result = output.to_json();
    let line = result["matches"][0]["line"].as_str().unwrap();
    assert_eq!((line.chars().count(), line.ends_with("é…")), (501, true));
}

#[test]
fn grep_decodes_utf16_and_shows_latin1_lossily() {
    let bench = Bench::with(&[]);
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("needle 16\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    std::fs::write(bench.root().join("utf16"), utf16).unwrap();
    std::fs::write(bench.root().join("latin1"), b"needle caf\xe9\n").unwrap();
    let output = call(&bench, "search.grep", json!({"pattern": "needle"})).unwrap();
    assert_eq!(output.to_json()["matches"][0]["line"], "needle caf\u{fffd}");
    assert_eq!(output.to_json()["matches"][1]["line"], "needle 16");
}

#[test]
fn grep_reports_timeout_and_stops_on_cancel() {
    let mut bench = Bench::with(&[("a", "needle")]);
    bench.limits.grep_time = std::time::Duration::ZERO;
    let output = call(&bench, "search.grep", json!({"pattern": "needle"})).unwrap();
    assert_eq!(
        (output.cut.timed_out, output.cut.truncated, &output.to_json()["truncated"]),
        (true, true, &json!(true))
    );
    bench.cancel.cancel();
    let error = call(&bench, "search.grep", json!({"pattern": "needle"})).unwrap_err();
    assert_eq!(error, crate::tool::ToolError::Cancelled);
}

#[test]
fn grep_names_bad_pattern() {
    let bench = Bench::with(&[]);
    for pattern in ["(", "", "a\nb"] {
        let error = call(&bench, "search.grep", json!({"pattern": pattern})).unwrap_err();
        assert!(error.to_string().starts_with("Invalid parameters: "), "{error}");
    }
}

#[test]
fn grep_survives_links_pipes_and_odd_names() {
    use std::{
        ffi::OsStr,
        os::unix::{ffi::OsStrExt, fs::symlink},
    };
    let bench = Bench::with(&[("real", "needle")]);
    let outside = bench.root().with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("a"), "needle").unwrap();
    symlink(&outside, bench.root().join("link-dir")).unwrap();
    symlink(outside.join("a"), bench.root().join("link-file")).unwrap();
    symlink(".", bench.root().join("around")).unwrap();
    std::fs::write(bench.root().join(OsStr::from_bytes(b"bad\xff")), "needle").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(bench.root().join("pipe")).status().unwrap().success());
    let output = call(&bench, "search.grep", json!({"pattern": "needle"})).unwrap();
    assert_eq!(lines(&output.to_json()), ["bad\u{fffd}:1", "real:1"]);
}
