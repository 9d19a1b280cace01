//! Checks the modules of every crate against the table of layers in its root file, and its files for import cycles.

use anyhow::{Context, Result, ensure};
use std::path::PathBuf;

const CRATES: [&str; 20] = [
    "agents",
    "apple",
    "apple/helper",
    "bridge",
    "cli",
    "connection",
    "core",
    "ios",
    "keep",
    "live",
    "llama",
    "llama/helper",
    "orchestration",
    "remote",
    "search",
    "sessions",
    "share",
    "tools",
    "transcripts",
    "wire",
];

#[test]
fn modules_use_lower_layers_and_files_form_no_cycles() -> Result<()> {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut faults = Vec::new();
    for name in CRATES {
        if let Err(error) = openagents_layers::check(crates.join(name)) {
            faults.push(format!("{name}:\n{error}"));
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

#[test]
fn every_crate_is_checked() -> Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let members = manifest.split("members = [").nth(1).context("no members in Cargo.toml")?;
    let members = members.split(']').next().unwrap_or_default();
    for member in members.split('"').filter_map(|part| part.strip_prefix("crates/")) {
        ensure!(CRATES.contains(&member), "crates/{member} is missing in CRATES");
    }
    Ok(())
}
