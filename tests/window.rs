//! The desktop window: the real program, its real page and its bridge, as a person meets them.

#![cfg(target_os = "linux")]

#[path = "support/desktop/mod.rs"]
mod desktop;

use desktop::Desktop;
use fantoccini::Locator;
use std::{fs, path::Path};
use tempfile::TempDir;

/// Returns a small project to explore.
fn project() -> anyhow::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("tide-tables-").tempdir()?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    fs::create_dir(folder.path().join("src"))?;
    write("README.md", "# Tide tables\n\nPredicts the tide at a harbour from its constituents.\n")?;
    write("Cargo.toml", "[package]\nname = \"tide-tables\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")?;
    write(
        "src/lib.rs",
        "//! Tides.\n\n/// Height above chart datum, in metres.\npub fn height() -> f64 {\n    1.2\n}\n",
    )?;
    Ok(folder)
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A script that tells whether `text` can be read in the element `selector`.
fn shows(selector: &str, text: &str) -> String {
    format!("return document.querySelector('{selector}')?.innerText.includes('{text}') ?? false")
}

const LIVE: &str = "return document.querySelector('[data-link=live]')";
const COMPLETE: &str = "return document.querySelector('[data-plan=complete]')";

#[tokio::test]
async fn a_person_explores_a_folder_and_looks_behind_a_row() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let desktop = Desktop::start(&desktop::build()?, home.path(), None).await?;
    assert_eq!(desktop.page.title().await?, "OpenAgents");
    desktop.until("a live link", LIVE).await?;
    desktop.shoot("start").await?;

    let field = desktop.page.find(Locator::Css("#workspace")).await?;
    field.clear().await?;
    field.send_keys(&project.path().to_string_lossy()).await?;
    desktop.page.find(Locator::Css("form button[type=submit]")).await?.click().await?;
    desktop.until("the end of the plan", COMPLETE).await?;
    desktop.until("the heading of the plan", &shows("[data-plan]", "Plan Complete")).await?;
    let sentence = "Predicts the tide at a harbour";
    desktop.until("the summary", &shows("main", sentence)).await?;
    desktop.shoot("explored").await?;

    desktop.page.find(Locator::Css("[data-tool]")).await?.click().await?;
    desktop
        .until("the notification behind the row", &shows("[aria-label=Inspector]", "sessionUpdate"))
        .await?;
    desktop.shoot("inspector").await?;
    desktop.close(home.path()).await
}

#[tokio::test]
async fn a_folder_on_the_command_line_is_explored_at_once() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let desktop = Desktop::start(&desktop::build()?, home.path(), Some(project.path())).await?;
    desktop.until("the end of the plan", COMPLETE).await?;
    desktop.close(home.path()).await
}

#[tokio::test]
async fn a_second_window_on_the_same_data_uses_the_bridge_of_the_first() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let program = desktop::build()?;
    let first = Desktop::start(&program, home.path(), None).await?;
    first.until("a live link", LIVE).await?;
    let second = Desktop::start(&program, home.path(), Some(project.path())).await?;
    second.until("the end of the plan", COMPLETE).await?;
    let title = name(project.path());
    first
        .until(
            "the session in the other window",
            &format!("return document.body.innerText.includes('{title}')"),
        )
        .await?;
    drop(second);
    first.close(home.path()).await
}

#[tokio::test]
async fn a_window_whose_bridge_has_gone_begins_one_of_its_own() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let program = desktop::build()?;
    let first = Desktop::start(&program, home.path(), None).await?;
    first.until("a live link", LIVE).await?;
    let (port, pid) = desktop::bridge(home.path())?;
    let second = Desktop::start(&program, home.path(), None).await?;
    second.until("a live link", LIVE).await?;
    let ended = std::process::Command::new("kill").arg(pid.to_string()).status()?;
    assert!(ended.success());
    let own = format!("{LIVE} && !document.body.innerText.includes('port {port}')");
    second.until("a live link to another bridge", &own).await?;
    drop(first);
    second.close(home.path()).await
}

/// The model answers in the window as it does for every other client: the helper lies beside the program.
#[tokio::test]
async fn the_local_model_answers_in_the_window() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let program = desktop::build()?;
    let model = home.path().join("scripted.gguf");
    openagents_e2e::gptoss::write(&model, &openagents_e2e::gptoss::Script::explorer())?;
    let added = std::process::Command::new(program.with_file_name("openagents"))
        .args(["models", "add"])
        .arg(&model)
        .env("HOME", home.path())
        .env("OPENAGENTS_HOME", home.path().join(desktop::DATA))
        .output()?;
    assert!(added.status.success(), "{added:?}");

    let desktop = Desktop::start(&program, home.path(), Some(project.path())).await?;
    desktop.until("the end of the plan", COMPLETE).await?;
    let page = &desktop.page;
    page.execute("document.querySelector('input[name=mode][value=gptoss_20b]').click()", Vec::new()).await?;
    let prompt = page.find(Locator::Css("textarea[aria-label=Prompt]")).await?;
    prompt.send_keys("What is in this folder?").await?;
    page.find(Locator::Css("button[aria-label=Send]")).await?.click().await?;
    desktop.until("the answer", &shows("main", "This folder holds a small project.")).await?;
    desktop.until("its figures", &shows("main", "tokens/s")).await?;
    let secret =
        desktop.page.execute("return document.body.innerText.includes('secret')", Vec::new()).await?;
    assert_eq!(secret, serde_json::json!(false));
    desktop.shoot("answered").await?;
    desktop.close(home.path()).await
}
