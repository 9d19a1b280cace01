//! Where `fake-agent` is.

use anyhow::{Context as _, Result, ensure};
use std::{path::PathBuf, process::Command, sync::OnceLock};

/// Builds `fake-agent` where the running test was built, once, and returns its path.
pub fn program() -> Result<PathBuf> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}"))).clone().map_err(anyhow::Error::msg)
}

fn build() -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    // `PROFILE/deps/TEST`
    let profile = test.ancestors().nth(2).context("a test lies in target/PROFILE/deps")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "openagents-e2e", "--bin", "fake-agent"]);
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    cargo.arg("--target-dir").arg(profile.parent().context("a profile lies in target")?);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    ensure!(cargo.status()?.success(), "cannot build fake-agent");
    Ok(profile.join(format!("fake-agent{}", std::env::consts::EXE_SUFFIX)))
}
