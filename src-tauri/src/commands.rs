//! What the page may ask of the shell. Everything else it asks of the bridge.

use crate::backend::{Address, Backend};
use tauri::{AppHandle, State, UserAttentionType, WebviewWindow};
use tauri_plugin_dialog::DialogExt as _;
use tauri_plugin_notification::NotificationExt as _;

/// Returns where the bridge listens, the token for it, and the folder to open first. The page asks before each try to
/// connect.
#[tauri::command]
pub(crate) async fn bridge_address(backend: State<'_, Backend>) -> Result<Address, String> {
    backend.address().await.map_err(|error| error.to_string())
}

/// Returns the folder that the person picks, or nothing when the dialog was cancelled.
///
/// Runs off the main thread, which has to draw the dialog meanwhile.
#[tauri::command]
pub(crate) async fn pick_folder(app: AppHandle, window: WebviewWindow) -> Option<String> {
    let dialog = app.dialog().file().set_title("Choose a folder to explore").set_parent(&window);
    let picked = dialog.blocking_pick_folder()?.into_path().ok()?;
    Some(picked.to_string_lossy().into_owned())
}

/// Returns the GGUF file that the person picks, or nothing when the dialog was cancelled.
#[tauri::command]
pub(crate) async fn pick_model(app: AppHandle, window: WebviewWindow) -> Option<String> {
    let dialog = app.dialog().file().set_title("Choose a model").add_filter("GGUF models", &["gguf"]);
    let picked = dialog.set_parent(&window).blocking_pick_file()?.into_path().ok()?;
    Some(picked.to_string_lossy().into_owned())
}

/// Says that somebody waits for the person at this machine, unless the window is before their eyes already.
#[tauri::command]
pub(crate) fn notify(app: AppHandle, window: WebviewWindow, title: &str, body: &str) {
    if window.is_visible().unwrap_or(false) && window.is_focused().unwrap_or(false) {
        return;
    }
    if let Err(error) = app.notification().builder().title(title).body(body).show() {
        tracing::warn!(%error, "a notification does not appear");
    }
    if let Err(error) = window.request_user_attention(Some(UserAttentionType::Informational)) {
        tracing::warn!(%error, "the window asks for no attention");
    }
}
