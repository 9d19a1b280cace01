//! The desktop window: the real program, its real page and its bridge, as a person meets them.

#![cfg(target_os = "linux")]

#[path = "support/desktop/mod.rs"]
mod desktop;

use desktop::Desktop;

#[tokio::test]
async fn the_window_shows_the_page() -> anyhow::Result<()> {
    let desktop = Desktop::start(&desktop::build()?, None).await?;
    assert_eq!(desktop.page.title().await?, "OpenAgents");
    desktop.shoot("start").await?;
    desktop.close().await
}
