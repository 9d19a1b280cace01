//! The main window: opening, closing, and links.

use std::path::Path;
use tauri::{
    AppHandle, Emitter as _, Manager as _, Url, WebviewUrl, WebviewWindowBuilder, Window, WindowEvent, Wry,
    plugin::TauriPlugin,
    webview::{NewWindowResponse, PageLoadEvent},
};
use tauri_plugin_opener::OpenerExt as _;
use tauri_plugin_window_state::StateFlags;

pub(crate) const LABEL: &str = "main";
/// The event that sends a folder, opened from outside the page, to the page.
const FOLDER_EVENT: &str = "open-folder";

pub(crate) fn open(app: &AppHandle) -> tauri::Result<()> {
    let (navigating, opening) = (app.clone(), app.clone());
    WebviewWindowBuilder::new(app, LABEL, WebviewUrl::App("index.html".into()))
        .title("OpenAgents")
        .inner_size(1280.0, 820.0)
        .min_inner_size(390.0, 480.0)
        // Images are dropped on the page, which otherwise would not hear of it.
        .disable_drag_drop_handler()
        // Shown once it is drawn: an empty window would flash white on a dark desktop.
        .visible(false)
        .on_page_load(|window, load| {
            if load.event() == PageLoadEvent::Finished
                && let Err(error) = window.show()
            {
                tracing::warn!(%error, "cannot show the window");
            }
        })
        .on_navigation(move |url| {
            let ours = is_page(url);
            if !ours {
                open_outside(&navigating, url);
            }
            ours
        })
        .on_new_window(move |url, _| {
            open_outside(&opening, &url);
            NewWindowResponse::Deny
        })
        .build()?;
    Ok(())
}

pub(crate) fn show(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(LABEL) {
        let shown = window.unminimize().and_then(|()| window.show()).and_then(|()| window.set_focus());
        if let Err(error) = shown {
            tracing::warn!(%error, "cannot focus the window");
        }
    }
}

pub(crate) fn open_folder(app: &AppHandle, folder: &Path) {
    if let Err(error) = app.emit(FOLDER_EVENT, folder.to_string_lossy()) {
        tracing::warn!(%error, "cannot send the folder to the page");
    }
}

/// On macOS, closing the window hides it and the bridge keeps running; elsewhere it quits the program.
pub(crate) fn on_event(window: &Window, event: &WindowEvent) {
    #[cfg(target_os = "macos")]
    if let WindowEvent::CloseRequested { api, .. } = event {
        api.prevent_close();
        if let Err(error) = window.hide() {
            tracing::warn!(%error, "cannot hide the window");
        }
    }
    #[cfg(not(target_os = "macos"))]
    let _ = (window, event);
}

/// Saves size and position, but not visibility, or the window would stay hidden at the next start.
pub(crate) fn remember_geometry() -> TauriPlugin<Wry> {
    tauri_plugin_window_state::Builder::default()
        .with_state_flags(StateFlags::SIZE | StateFlags::POSITION | StateFlags::MAXIMIZED)
        .build()
}

/// Returns whether `url` is the page itself, as opposed to a link in a message.
fn is_page(url: &Url) -> bool {
    match url.scheme() {
        "tauri" => url.host_str() == Some("localhost"),
        "about" => url.path() == "blank",
        // `tauri dev` loads the page from a development server.
        "http" => cfg!(dev) && url.host_str() == Some("localhost"),
        _ => false,
    }
}

/// Opens a link in the user's browser or mail program. Other schemes are ignored, since they could start any program.
fn open_outside(app: &AppHandle, url: &Url) {
    if matches!(url.scheme(), "http" | "https" | "mailto")
        && let Err(error) = app.opener().open_url(url.as_str(), None::<&str>)
    {
        tracing::warn!(%error, "cannot open the link");
    }
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn window_keeps_only_the_page() {
        for (url, expected) in [
            ("tauri://localhost/index.html", true),
            ("tauri://elsewhere/", false),
            ("about:blank", true),
            ("https://example.com/", false),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
        ] {
            assert_eq!(is_page(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
