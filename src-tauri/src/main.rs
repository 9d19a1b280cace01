//! The desktop shell: a window with the page, the menu, native dialogs, and a bridge in this process.
//!
//! **Architecture invariant:** no domain logic here. The window is a client like any other, and gets its content from
//! the bridge over the same WebSocket as a browser or a phone.

mod backend;
mod commands;
mod editor;
mod folder;
mod menu;
mod notifications;
mod window;

use backend::Backend;
use openagents_core::folders::HOME_VARIABLE;
use tauri::{AppHandle, Manager as _, RunEvent};
use tracing_subscriber::EnvFilter;

fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();

    let mut builder = tauri::Builder::default();
    // A separate data folder means a separate instance, which must not hand over to the first one.
    if std::env::var_os(HOME_VARIABLE).is_none() {
        builder = builder.plugin(tauri_plugin_single_instance::init(|app, arguments, directory| {
            window::show(app);
            if let Some(folder) = folder::named(arguments, directory.as_ref()) {
                window::open_folder(app, &folder);
            }
        }));
    }
    let app = builder
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_notification::init())
        .plugin(tauri_plugin_opener::init())
        .plugin(window::remember_geometry())
        .menu(menu::build)
        .on_menu_event(menu::chosen)
        .on_window_event(window::event)
        .invoke_handler(tauri::generate_handler![
            commands::bridge_address,
            commands::pick_folder,
            commands::pick_model,
            commands::open_editor,
            commands::run_editor
        ])
        .setup(|app| {
            end_on_signals(app.handle());
            backend::open(app.handle());
            Ok(())
        })
        .build(tauri::generate_context!())?;
    app.run(on_event);
    Ok(())
}

/// Exits like the menu when the terminal or the session ends, so that the bridge closes its store.
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
