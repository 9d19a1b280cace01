//! The bridge behind the window: one in this process, or one that another process already runs on this data folder.

use crate::{folder, notifications, window};
use openagents_agents::{AgentsConfig, LocalAgents, OwnTools};
use openagents_apple::FoundationModels;
use openagents_bridge::{Bridge, BridgeConfig, BridgeError, Claim, NetworkConfig, Providers, Surroundings};
use openagents_core::{
    folders::{HOME_VARIABLE, data_folder, models_folder},
    model::LocalModels,
};
use openagents_llama::{Local, LocalConfig, client::Helper};
use openagents_transcripts::history::HistoryRoots;
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tauri::{
    AppHandle, Manager as _,
    async_runtime::{self, Mutex},
};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind};
use tokio::time::sleep;

/// Overrides the port that the OpenAgents iOS app connects to; 0 picks a free one.
const PORT_VARIABLE: &str = "OPENAGENTS_PORT";
const DEFAULT_PORT: u16 = 9099;

/// Time that the window waits for another bridge to end.
const HAND_OVER: Duration = Duration::from_secs(1);

/// The address of the bridge for the page, and the folder to open.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Address {
    port: u16,
    token: String,
    /// The folder from the command line, explored once the page is connected.
    root: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct Backend {
    config: BridgeConfig,
    root: Option<PathBuf>,
    /// The bridge, if it runs in this process; taken on exit.
    bridge: Mutex<Option<Bridge>>,
}

impl Backend {
    /// Returns the current address of the bridge. Another process's bridge may have moved; if it has stopped, starts
    /// one here.
    pub(crate) async fn address(&self) -> Result<Address, BridgeError> {
        let mut bridge = self.bridge.lock().await;
        if bridge.is_none()
            && let Some((port, token)) = running(&self.config.home)
        {
            return Ok(Address { port, token, root: self.root.clone() });
        }
        let ours = match bridge.take() {
            Some(ours) => ours,
            None => start(&self.config).await?,
        };
        let address =
            Address { port: ours.address().port(), token: ours.token().to_owned(), root: self.root.clone() };
        *bridge = Some(ours);
        Ok(address)
    }

    /// Returns the data folder.
    pub(crate) fn home(&self) -> &Path {
        &self.config.home
    }

    /// Ends running turns and flushes the store, if the bridge runs in this process. A second call does nothing.
    pub(crate) fn close(&self) {
        async_runtime::block_on(async {
            let bridge = self.bridge.lock().await.take();
            if let Some(bridge) = bridge {
                bridge.shutdown().await;
            }
        });
    }
}

/// The program `openagents`: beside this one, or in the `PATH`.
fn own_program() -> PathBuf {
    let beside = std::env::current_exe().map(|program| program.with_file_name("openagents"));
    beside.ok().filter(|beside| beside.is_file()).unwrap_or_else(|| PathBuf::from("openagents"))
}

fn providers(around: Surroundings) -> Providers {
    let agents = LocalAgents::start(AgentsConfig {
        settings: around.settings.clone(),
        history: around.history.clone(),
        keeper: around.keeper,
        own_tools: Some(OwnTools { program: own_program(), home: around.home }),
        packages: around.packages,
        registry: None,
    });
    let models = models_folder().map(|folder| -> Arc<dyn LocalModels> {
        Local::start(LocalConfig::new(folder, around.settings, Arc::new(Helper::new())))
    });
    let foundation = FoundationModels::start();
    Providers { agents: Some(agents), ..Providers::local(around.history, models, Some(foundation)) }
}

/// Starts the bridge and opens the window, or shows the error in a dialog.
pub(crate) fn open(app: &AppHandle) {
    match port() {
        Ok(port) => open_on(app, port),
        Err(reason) => refuse(app, &reason),
    }
}

fn port() -> Result<u16, String> {
    let Some(value) = std::env::var_os(PORT_VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(DEFAULT_PORT);
    };
    let text = value.to_string_lossy();
    text.parse().map_err(|_| format!("{PORT_VARIABLE} is \"{text}\". Set it to a number from 0 to 65535."))
}

fn open_on(app: &AppHandle, port: u16) {
    let Some(home) = data_folder() else {
        return refuse(
            app,
            &format!("This user has no home folder. Set {HOME_VARIABLE} to a folder for the data."),
        );
    };
    let directory = std::env::current_dir().unwrap_or_default();
    let root = folder::folder_argument(std::env::args_os(), &directory);
    let config = BridgeConfig {
        home: home.clone(),
        port,
        root: root.clone().unwrap_or(directory),
        ios: None,
        network: NetworkConfig::default(),
        history: HistoryRoots::from_env(),
        temporary: false,
    };
    match async_runtime::block_on(start(&config)) {
        Ok(bridge) => {
            for notice in bridge.notices() {
                app.dialog()
                    .message(notice)
                    .title("OpenAgents")
                    .kind(MessageDialogKind::Warning)
                    .show(|_| {});
            }
            show(app, Backend { config, root, bridge: Mutex::new(Some(bridge)) });
        }
        Err(BridgeError::AlreadyRunning { .. }) if running(&home).is_some() => {
            show(app, Backend { config, root, bridge: Mutex::new(None) });
        }
        Err(BridgeError::AlreadyRunning { .. }) => {
            refuse(app, "Another OpenAgents is starting or ending. Try again in a moment.");
        }
        Err(BridgeError::PortBusy(port)) => offer_another_port(app, port),
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            refuse(app, &format!("OpenAgents {error}. {hint}"));
        }
    }
}

/// Starts a bridge. A command's temporary bridge is asked to end first if no turn runs on it; otherwise the window
/// shows that turn, and [`Backend::address`] starts a bridge here after it ends.
async fn start(config: &BridgeConfig) -> Result<Bridge, BridgeError> {
    let _claim = Claim::new(&config.home);
    let until = Instant::now() + HAND_OVER;
    loop {
        match Bridge::start_with(config.clone(), providers).await {
            Err(BridgeError::AlreadyRunning { address }) if Instant::now() < until => {
                let is_temporary = openagents_bridge::ask_to_hand_over(&config.home);
                if address.is_some() && !is_temporary {
                    return Err(BridgeError::AlreadyRunning { address });
                }
                sleep(Duration::from_millis(50)).await;
            }
            started => return started,
        }
    }
}

/// Returns the port and token of the bridge that another process runs on the data folder.
fn running(home: &Path) -> Option<(u16, String)> {
    // The token is valid for as long as that bridge has the port, so the page needs no proof before it sends the token.
    let announced = openagents_bridge::announced(home)?;
    Some((announced.address.port(), announced.token))
}

fn show(app: &AppHandle, backend: Backend) {
    app.manage(backend);
    match window::open(app) {
        Ok(()) => notifications::start(app),
        Err(error) => refuse(app, &format!("Couldn't open the window: {error}.")),
    }
}

fn offer_another_port(app: &AppHandle, port: u16) {
    let handle = app.clone();
    app.dialog()
        .message(format!(
            "Another program uses port {port}. On another port everything works, except that the OpenAgents iOS app \
             does not find this machine."
        ))
        .title("OpenAgents")
        .kind(MessageDialogKind::Warning)
        .buttons(MessageDialogButtons::OkCancelCustom("Use Another Port".into(), "Quit".into()))
        .show(move |another| if another { open_on(&handle, 0) } else { handle.exit(1) });
}

fn refuse(app: &AppHandle, reason: &str) {
    tracing::error!("{reason}");
    let handle = app.clone();
    app.dialog()
        .message(reason)
        .title("OpenAgents cannot start")
        .kind(MessageDialogKind::Error)
        .show(move |_| handle.exit(1));
}
