//! The walks of ARCHITECTURE.md: each file exists, and shares with the next one the name at the end of its line.

use anyhow::{Context, Result};
use std::{collections::HashSet, path::Path};

/// Maximum number of files in a walk, by its heading.
const WALKS: [(&str, usize); 3] =
    [("A prompt of an ACP client", 15), ("A question", 14), ("A session of another agent is indexed", 10)];

/// One line of a walk: its file, and the name that leads to the next.
struct Step<'a> {
    file: &'a str,
    name: Option<&'a str>,
}

fn steps<'a>(document: &'a str, heading: &str) -> Option<Vec<Step<'a>>> {
    let section = document.split_once(&format!("### {heading}\n"))?.1;
    let section = section.split("\n#").next()?;
    let numbered =
        |line: &&str| line.split_once(". `").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    let step = |line: &'a str| {
        let mut quoted = line.split('`').skip(1).step_by(2);
        Some(Step { file: quoted.next()?, name: quoted.last().filter(|_| line.ends_with('`')) })
    };
    section.lines().filter(numbered).map(step).collect()
}

fn text(file: &str) -> Result<String> {
    let (part, rest) = file.split_once('/').context("a file has a folder")?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../crates/{part}/src/{rest}"));
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

fn defines(text: &str, name: &str) -> bool {
    ["fn", "struct", "enum", "type", "trait"].iter().any(|kind| {
        text.match_indices(&format!("{kind} {name}")).any(|(at, found)| {
            !text[at + found.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
        })
    })
}

/// Returns the problem with the link between two files.
fn fault(one: &str, name: &str, next: &str) -> Option<&'static str> {
    match () {
        () if !has_word(one, name) => Some("the first file does not use it"),
        () if !has_word(next, name) => Some("the next file does not have it"),
        () if !defines(one, name) && !defines(next, name) => Some("neither defines it"),
        () => None,
    }
}

#[test]
fn walk_steps_exist_in_the_code() -> Result<()> {
    let document = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md"))?;
    for (heading, most) in WALKS {
        let steps = steps(&document, heading).context(heading)?;
        let files: HashSet<_> = steps.iter().map(|step| step.file).collect();
        assert!((5..=most).contains(&files.len()), "{heading}: {} files", files.len());
        for (step, next) in steps.iter().zip(&steps[1..]) {
            let name = step.name.with_context(|| format!("{heading}: {} names nothing", step.file))?;
            let fault = fault(&text(step.file)?, name, &text(next.file)?);
            assert_eq!(fault, None, "{heading}: {} → {name} → {}", step.file, next.file);
        }
        // The last file exists too.
        steps.last().map(|step| text(step.file)).transpose()?;
    }
    Ok(())
}

#[test]
fn missing_step_is_found() {
    let (calls, defines) = ("fn a() { submit() }", "fn submit() {}");
    assert_eq!(fault(calls, "submit", defines), None);
    assert!(fault(calls, "resubmit", defines).is_some());
    assert!(fault(calls, "submit", "fn submits() {}").is_some());
    assert!(fault(calls, "submit", calls).is_some());
}
