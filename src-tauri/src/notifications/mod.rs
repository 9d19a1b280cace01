//! System notifications: approvals, ended turns and devices that want to connect.
//!
//! Posted from the shell instead of the page, because the system may suspend the page of a hidden window.

mod feed;
mod notices;

use crate::backend::Backend;
use feed::Feed;
use notices::{Notice, Notices};
use std::time::Duration;
use tauri::{AppHandle, Manager as _, UserAttentionType};
use tauri_plugin_notification::NotificationExt as _;

/// Time between attempts to connect to the bridge.
const AGAIN: Duration = Duration::from_secs(1);

/// Follows the bridge for as long as the app runs.
pub(crate) fn start(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let mut notices = Notices::default();
        loop {
            if let Some(backend) = app.try_state::<Backend>() {
                let followed = match Feed::open(backend.home()).await {
                    Ok(feed) => feed.follow(&mut notices, |notice| post(&app, &notice)).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = followed {
                    tracing::debug!("no news from the bridge: {error:#}");
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    });
}

/// Shows a notification, unless the window is visible and focused.
fn post(app: &AppHandle, notice: &Notice) {
    let Some(window) = app.get_webview_window(crate::window::LABEL) else { return };
    if window.is_visible().unwrap_or(false) && window.is_focused().unwrap_or(false) {
        return;
    }
    // Titles come from agents and users and don't belong in a log.
    tracing::info!(kind = notice.kind, "notification");
    if let Err(error) = app.notification().builder().title(&notice.title).body(&notice.body).show() {
        tracing::warn!(%error, "cannot show a notification");
    }
    if let Err(error) = window.request_user_attention(Some(UserAttentionType::Informational)) {
        tracing::warn!(%error, "cannot request attention for the window");
    }
}
