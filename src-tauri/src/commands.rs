//! Commands from the page to the shell. Everything else goes to the bridge.

use crate::{
    backend::{Address, Backend},
    editor,
};
use std::path::PathBuf;
use tauri::{AppHandle, State, WebviewWindow};
use tauri_plugin_dialog::DialogExt as _;
use tauri_plugin_opener::OpenerExt as _;

/// Returns the bridge's address, its token, and the folder to open first. The page calls this
/// before each connection attempt.
#[tauri::command]
pub(crate) async fn bridge_address(backend: State<'_, Backend>) -> Result<Address, String> {
    backend.address().await.map_err(|error| error.to_string())
}

/// Returns the folder that the user picks; `None` if the dialog was cancelled.
///
/// Runs off the main thread, which has to draw the dialog in the meantime.
#[tauri::command]
pub(crate) async fn pick_folder(app: AppHandle, window: WebviewWindow) -> Option<String> {
    let dialog = app.dialog().file().set_title("Choose a folder to explore").set_parent(&window);
    let picked = dialog.blocking_pick_folder()?.into_path().ok()?;
    Some(picked.to_string_lossy().into_owned())
}

/// Returns the GGUF file that the user picks; `None` if the dialog was cancelled.
#[tauri::command]
pub(crate) async fn pick_model(app: AppHandle, window: WebviewWindow) -> Option<String> {
    let dialog = app.dialog().file().set_title("Choose a model").add_filter("GGUF models", &["gguf"]);
    let picked = dialog.set_parent(&window).blocking_pick_file()?.into_path().ok()?;
    Some(picked.to_string_lossy().into_owned())
}

/// Writes a file where the user wants it. Returns `false` if the dialog was cancelled.
#[tauri::command]
pub(crate) async fn save_file(
    app: AppHandle,
    window: WebviewWindow,
    name: String,
    text: String,
) -> Result<bool, String> {
    let dialog = app.dialog().file().set_title("Save").set_file_name(name).set_parent(&window);
    let Some(picked) = dialog.blocking_save_file() else { return Ok(false) };
    let path = picked.into_path().map_err(|error| error.to_string())?;
    std::fs::write(&path, text).map_err(|error| format!("couldn't write {}: {error}", path.display()))?;
    Ok(true)
}

#[tauri::command]
pub(crate) async fn open_editor(app: AppHandle, link: String) -> Result<(), String> {
    if !editor::is_file_link(&link) {
        return Err(format!("{link} is not a link to a file in an editor"));
    }
    app.opener().open_url(&link, None::<&str>).map_err(|error| format!("couldn't open {link}: {error}"))
}

/// Runs the editor `command` on a line of a file in the workspace `root`. Takes up to 6 s if the login shell has to
/// be asked for its variables.
#[tauri::command]
pub(crate) async fn run_editor(
    command: String,
    root: PathBuf,
    path: String,
    line: u64,
) -> Result<(), String> {
    let file = editor::file_in(&root, &path).map_err(|error| error.to_string())?;
    let variables = tauri::async_runtime::spawn_blocking(openagents_agents::login_variables)
        .await
        .map_err(|error| format!("couldn't read the login shell's variables: {error}"))?;
    let variable = |name: &str| {
        variables
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.to_string_lossy().into_owned())
    };
    let words = editor::command_words(&command, &file, line, variable).map_err(|error| error.to_string())?;
    let mut child = editor::start(&words, &root, variables).map_err(|error| error.to_string())?;
    // Reaps the editor when it exits.
    tauri::async_runtime::spawn(async move { child.wait().await });
    Ok(())
}

/// Shows a file in Finder, or in the file manager.
#[tauri::command]
pub(crate) async fn reveal(app: AppHandle, path: PathBuf) -> Result<(), String> {
    if !path.exists() {
        return Err(format!("{} is no longer there", path.display()));
    }
    app.opener()
        .reveal_item_in_dir(&path)
        .map_err(|error| format!("couldn't show {}: {error}", path.display()))
}
