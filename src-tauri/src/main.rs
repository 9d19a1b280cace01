//! The desktop shell: a window with the page, the menu, native dialogs, and a bridge in this process.
//!
//! **Architecture invariant:** no domain logic here. The window is a client like any other, and gets its content from
//! the bridge over the same WebSocket as a browser or a phone.

mod backend;
mod commands;
mod editor;
mod folder;
mod instance;
mod menu;
mod notifications;
mod window;

use backend::Backend;
use instance::{First, Start};
use openagents_core::folders::{HOME_VARIABLE, data_folder};
use tauri::{AppHandle, Manager as _, RunEvent};
use tracing_subscriber::EnvFilter;

fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();

    let first = match first_app() {
        Some(Start::HandedOver) => return Ok(()),
        Some(Start::First(first)) => Some(first),
        None => None,
    };
    let app = tauri::Builder::default()
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_notification::init())
        .plugin(tauri_plugin_opener::init())
        .plugin(window::remember_geometry())
        .menu(menu::build)
        .on_menu_event(menu::on_command)
        .on_window_event(window::on_event)
        .invoke_handler(tauri::generate_handler![
            commands::bridge_address,
            commands::pick_folder,
            commands::pick_model,
            commands::save_file,
            commands::open_editor,
            commands::reveal,
            commands::run_editor
        ])
        .setup(move |app| {
            end_on_signals(app.handle());
            if let Some(first) = first {
                show_on_starts(app.handle(), first);
            }
            backend::open(app.handle());
            Ok(())
        })
        .build(tauri::generate_context!())?;
    app.run(on_event);
    Ok(())
}

/// Returns `None` for a custom data folder, as in a test, where each start opens a window.
fn first_app() -> Option<Start> {
    if std::env::var_os(HOME_VARIABLE).is_some() {
        return None;
    }
    let directory = std::env::current_dir().unwrap_or_default();
    let folder = folder::folder_argument(std::env::args_os(), &directory);
    let started = instance::start(&data_folder()?, folder.as_deref());
    started.inspect_err(|error| tracing::warn!(%error, "cannot check for another instance")).ok()
}

fn show_on_starts(app: &AppHandle, first: First) {
    let shown = app.clone();
    let listening = first.listen(move |folder| {
        window::show(&shown);
        if let Some(folder) = folder {
            window::open_folder(&shown, &folder);
        }
    });
    if let Err(error) = listening {
        tracing::warn!(%error, "a second start will open a second window");
    }
}

/// Exits as the menu's Quit does when the terminal or the login session ends, so that the bridge closes its store.
fn end_on_signals(app: &AppHandle) {
    use tokio::signal::unix::{SignalKind, signal};

    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        app.exit(0);
    });
}

fn on_event(app: &AppHandle, event: RunEvent) {
    match event {
        #[cfg(target_os = "macos")]
        RunEvent::Reopen { .. } => window::show(app),
        RunEvent::Exit => {
            if let Some(backend) = app.try_state::<Backend>() {
                backend.close();
            }
        }
        _ => {}
    }
}
