//! The bridge that serves the window: one in this process.

use crate::{folder, window};
use openagents_bridge::{Bridge, BridgeConfig, BridgeError, IosDoor};
use openagents_core::history::HistoryRoots;
use serde::Serialize;
use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};
use tauri::{AppHandle, Manager as _, async_runtime};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind};

/// Moves the data folder.
pub(crate) const HOME_VARIABLE: &str = "OPENAGENTS_HOME";
const DEFAULT_PORT: u16 = 9099;

/// Where the page finds the bridge, and what it opens first.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Address {
    port: u16,
    token: String,
    /// The folder given on the command line: explored as soon as the page is connected.
    root: Option<PathBuf>,
}

/// The bridge behind the window.
#[derive(Debug)]
pub(crate) struct Backend {
    address: Address,
    /// Taken when the program ends.
    bridge: Mutex<Option<Bridge>>,
}

impl Backend {
    pub(crate) fn address(&self) -> Address {
        self.address.clone()
    }

    /// Ends running turns and flushes the store. A second call does nothing.
    pub(crate) fn close(&self) {
        let bridge = self.bridge.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bridge) = bridge {
            async_runtime::block_on(bridge.shutdown());
        }
    }
}

/// Starts the bridge and opens the window on it, or says why that is impossible.
pub(crate) fn open(app: &AppHandle) {
    open_on(app, DEFAULT_PORT);
}

fn open_on(app: &AppHandle, port: u16) {
    let directory = std::env::current_dir().unwrap_or_default();
    let root = folder::named(std::env::args_os(), &directory);
    let config = BridgeConfig {
        home: PathBuf::from("/tmp/x"),
        port,
        root: root.clone().unwrap_or_default(),
        ios: IosDoor::Off,
        history: HistoryRoots::default(),
    };
    match async_runtime::block_on(Bridge::start(config)) {
        Ok(bridge) => {
            let address = Address { port: bridge.address().port(), token: bridge.token().to_owned(), root };
            app.manage(Backend { address, bridge: Mutex::new(Some(bridge)) });
            if let Err(error) = window::open(app) {
                refuse(app, format!("The window does not open: {error}."));
            }
        }
        Err(BridgeError::PortBusy(port)) => offer_another_port(app, port),
    }
}

fn offer_another_port(app: &AppHandle, port: u16) {
    let handle = app.clone();
    app.dialog()
        .message(format!("Another program uses port {port}. On another port everything works except that the OpenAgents iOS app does not find this machine."))
        .title("OpenAgents")
        .kind(MessageDialogKind::Warning)
        .buttons(MessageDialogButtons::OkCancelCustom("Use Another Port".into(), "Quit".into()))
        .show(move |another| if another { open_on(&handle, 0) } else { handle.exit(1) });
}

fn refuse(app: &AppHandle, reason: String) {
    let handle = app.clone();
    app.dialog()
        .message(reason)
        .title("OpenAgents cannot start")
        .kind(MessageDialogKind::Error)
        .show(move |_| handle.exit(1));
}
