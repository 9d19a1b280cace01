//! The menu. The page runs its commands: the shell only forwards the chosen one.

use tauri::{
    AppHandle, Emitter as _, Wry,
    menu::{Menu, MenuBuilder, MenuEvent, MenuItem, MenuItemBuilder, Submenu, SubmenuBuilder},
};
use tauri_plugin_opener::OpenerExt as _;

/// The event that sends the id of a chosen command to the page.
const EVENT: &str = "menu";
const SOURCE: &str = "source";
#[cfg(not(target_os = "macos"))]
const QUIT: &str = "quit";

pub(crate) fn build(app: &AppHandle) -> tauri::Result<Menu<Wry>> {
    let menu = MenuBuilder::new(app);
    #[cfg(target_os = "macos")]
    let menu = menu.item(&application(app)?);
    let menu = menu.item(&file(app)?);
    // On macOS, text fields get their shortcuts from this menu; elsewhere from the toolkit.
    #[cfg(target_os = "macos")]
    let menu = menu.item(&edit(app)?);
    let menu = menu.item(&view(app)?);
    #[cfg(target_os = "macos")]
    let menu = menu.item(&window(app)?);
    menu.item(&help(app)?).build()
}

pub(crate) fn on_command(app: &AppHandle, event: MenuEvent) {
    match event.id().as_ref() {
        SOURCE => {
            if let Err(error) = app.opener().open_url(env!("CARGO_PKG_REPOSITORY"), None::<&str>) {
                tracing::warn!(%error, "cannot open the browser");
            }
        }
        #[cfg(not(target_os = "macos"))]
        QUIT => app.exit(0),
        command => {
            if let Err(error) = app.emit(EVENT, command) {
                tracing::warn!(%error, command, "cannot send a menu command to the page");
            }
        }
    }
}

fn command(app: &AppHandle, id: &str, text: &str, keys: &str) -> tauri::Result<MenuItem<Wry>> {
    MenuItemBuilder::with_id(id, text).accelerator(keys).build(app)
}

fn file(app: &AppHandle) -> tauri::Result<Submenu<Wry>> {
    let menu = SubmenuBuilder::new(app, "File")
        .item(&command(app, "new-exploration", "New Exploration", "CmdOrCtrl+N")?)
        .item(&command(app, "open-folder", "Open Folder…", "CmdOrCtrl+O")?)
        .separator()
        .text("devices", "Pair a Device…")
        .separator();
    #[cfg(target_os = "macos")]
    let menu = menu.close_window();
    #[cfg(not(target_os = "macos"))]
    let menu = menu.item(&settings(app)?).separator().item(&command(app, QUIT, "Quit", "CmdOrCtrl+Q")?);
    menu.build()
}

fn settings(app: &AppHandle) -> tauri::Result<MenuItem<Wry>> {
    command(app, "settings", "Settings…", "CmdOrCtrl+,")
}

fn view(app: &AppHandle) -> tauri::Result<Submenu<Wry>> {
    let theme = SubmenuBuilder::new(app, "Theme")
        .text("theme-system", "System")
        .text("theme-light", "Light")
        .text("theme-dark", "Dark")
        .build()?;
    SubmenuBuilder::new(app, "View")
        .item(&command(app, "find", "Find in Session", "CmdOrCtrl+F")?)
        .item(&command(app, "toggle-inspector", "Toggle Inspector", "CmdOrCtrl+I")?)
        .item(&command(app, "debug", "Debug", "CmdOrCtrl+Alt+D")?)
        .separator()
        .item(&theme)
        .build()
}

fn help(app: &AppHandle) -> tauri::Result<Submenu<Wry>> {
    SubmenuBuilder::new(app, "Help")
        .item(&command(app, "shortcuts", "Keyboard Shortcuts", "CmdOrCtrl+/")?)
        .separator()
        .text(SOURCE, "OpenAgents on GitHub")
        .build()
}

#[cfg(target_os = "macos")]
fn application(app: &AppHandle) -> tauri::Result<Submenu<Wry>> {
    SubmenuBuilder::new(app, "OpenAgents")
        .about(None)
        .separator()
        .item(&settings(app)?)
        .separator()
        .services()
        .separator()
        .hide()
        .hide_others()
        .show_all()
        .separator()
        .quit()
        .build()
}

#[cfg(target_os = "macos")]
fn edit(app: &AppHandle) -> tauri::Result<Submenu<Wry>> {
    SubmenuBuilder::new(app, "Edit").undo().redo().separator().cut().copy().paste().select_all().build()
}

#[cfg(target_os = "macos")]
fn window(app: &AppHandle) -> tauri::Result<Submenu<Wry>> {
    SubmenuBuilder::new(app, "Window")
        .minimize()
        .maximize()
        .fullscreen()
        .separator()
        .bring_all_to_front()
        .build()
}
