//! Prepares the desktop shell: its capabilities, its icons and the page that it embeds.

use anyhow::Context as _;
use std::{fs, path::Path, time::SystemTime};

/// The page that the window shows until `make ui` has built the real one, so that the
/// workspace compiles on a fresh checkout.
const UNBUILT: &str =
    "<!doctype html><title>OpenAgents</title><p>The page is not built: run <code>make ui</code>.";

fn main() -> anyhow::Result<()> {
    let page = Path::new("ui/dist");
    let index = page.join("index.html");
    if !index.exists() {
        fs::create_dir_all(page).context("creating ui/dist")?;
        fs::write(&index, UNBUILT).context("writing ui/dist/index.html")?;
        // Older than every source of the page, or `make` would consider the page up to date.
        fs::File::options().write(true).open(&index)?.set_modified(SystemTime::UNIX_EPOCH)?;
    }
    tauri_build::try_build(
        tauri_build::Attributes::new().capabilities_path_pattern("./src-tauri/capabilities/**/*"),
    )
}
