//! Foreign code in the build is pinned, and runs nothing when it is installed.

use anyhow::{Context, Result, ensure};
use std::{fs, path::PathBuf};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn actions_are_pinned_by_digest() -> Result<()> {
    let mut count = 0;
    for file in fs::read_dir(repository().join(".github/workflows"))? {
        let path = file?.path();
        for line in fs::read_to_string(&path)?.lines().filter_map(|line| line.split_once("uses: ")) {
            let (_, digest) = line.1.split_once('@').context("an action has a version")?;
            let (digest, version) =
                digest.split_once(" # v").with_context(|| format!("{}: {}", path.display(), line.1))?;
            let is_digest = digest.len() == 40 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
            ensure!(is_digest && !version.is_empty(), "{}: {}", path.display(), line.1);
            count += 1;
        }
    }
    ensure!(count >= 8, "{count} actions were found");
    Ok(())
}

#[test]
fn npm_runs_no_install_scripts() -> Result<()> {
    for folder in [".", "ui"] {
        let folder = repository().join(folder);
        let settings = fs::read_to_string(folder.join(".npmrc")).context(".npmrc")?;
        ensure!(settings.lines().any(|line| line == "ignore-scripts=true"), "{}", folder.display());
        let lock = fs::read_to_string(folder.join("package-lock.json"))?;
        ensure!(!lock.contains("\"hasInstallScript\": true"), "{}", folder.display());
    }
    Ok(())
}
