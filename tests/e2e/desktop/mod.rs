//! The desktop app in a window: built, started on a separate display, driven through WebKitWebDriver.

mod child;
mod display;

use anyhow::{Context as _, bail};
use child::Child;
use display::Display;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};
use tokio::time::interval;

/// Maximum time of every wait before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// The app's data folder, below its home.
pub(crate) const DATA: &str = "openagents";

pub(crate) fn repository() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// Returns the folder of the programs that belong to this test, next to the test itself.
pub(crate) fn programs() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    Ok(test.ancestors().nth(2).context("a test lies in target/<profile>/deps")?.to_owned())
}

/// Builds everything that is out of date and returns the path of the desktop program.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    // All workspace members at once, as in `make test`: fewer of them would mean other features, hence another build.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--workspace", "--locked", "--quiet"]).current_dir(repository());
    // Build scripts of dependencies read the variables that cargo sets for a test, and would run again.
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    let status = command.status()?;
    if !status.success() {
        bail!("the workspace does not build");
    }
    Ok(programs()?.join("openagents-desktop"))
}

/// A running desktop app. Dropping it stops the app, its driver and its display.
#[derive(Debug)]
pub(crate) struct Desktop {
    pub(crate) page: Client,
    _driver: Child,
    _display: Display,
}

impl Desktop {
    /// Starts `program` for a user whose home is `home`, on the folder if given.
    pub(crate) async fn start(program: &Path, home: &Path, folder: Option<&Path>) -> anyhow::Result<Self> {
        let display = Display::start()?;
        let port = free_port()?;
        let mut command = Command::new("WebKitWebDriver");
        command
            .arg(format!("--port={port}"))
            .arg("--host=127.0.0.1")
            .env("TAURI_WEBVIEW_AUTOMATION", "true")
            .env("DISPLAY", display.name())
            .env("GDK_BACKEND", "x11")
            .env("HOME", home)
            // More threads than free cores make a model many times slower.
            .env("OPENAGENTS_LLAMA_THREADS", "1")
            .env("OPENAGENTS_HOME", home.join(DATA))
            .env("OPENAGENTS_PORT", "0")
            .env("CODEX_HOME", home.join("codex"))
            .env("CLAUDE_CONFIG_DIR", home.join("claude"));
        for variable in ["DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env_remove(variable);
        }
        let driver = Child::spawn(&mut command)
            .context("WebKitWebDriver does not start; scripts/install.sh tests installs it")?;
        eventually("an answer of WebKitWebDriver", || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        })
        .await?;

        let arguments: Vec<_> = folder.into_iter().map(Path::to_string_lossy).collect();
        let capabilities = json!({
            "browserName": "wry",
            "webkitgtk:browserOptions": { "binary": program, "args": arguments },
        });
        let page = ClientBuilder::new(HttpConnector::new())
            .capabilities(serde_json::from_value(capabilities)?)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .context("the desktop app opens no window")?;
        Ok(Self { page, _driver: driver, _display: display })
    }

    /// Waits until `script`, a function body, returns a truthy value.
    pub(crate) async fn until(&self, what: &str, script: &str) -> anyhow::Result<()> {
        let start = Instant::now();
        let mut tick = interval(Duration::from_millis(20));
        loop {
            tick.tick().await;
            if is_true(&self.page.execute(script, Vec::new()).await?) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                self.shoot("gave-up").await?;
                bail!("{what} did not happen within {PATIENCE:?}: see {}", shots()?.display());
            }
        }
    }

    /// Saves a screenshot of the window, for manual review.
    pub(crate) async fn shoot(&self, name: &str) -> anyhow::Result<()> {
        // The latest changes may not be painted yet.
        let painted = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))";
        self.page.execute_async(painted, Vec::new()).await?;
        let picture = self.page.screenshot().await?;
        fs::write(shots()?.join(format!("{name}.png")), picture)?;
        Ok(())
    }

    /// Stops the app as the end of a desktop session does, and waits until it has released its data folder.
    pub(crate) async fn close(self, home: &Path) -> anyhow::Result<()> {
        let (_, pid) = bridge(home)?;
        let status = Command::new("kill").arg(pid.to_string()).status()?;
        if !status.success() {
            bail!("the app that serves {} is not running", home.display());
        }
        eventually("the end of the app", || !announcement(home).exists()).await
    }
}

/// Returns the port and process id of the bridge that runs on a home's data folder.
pub(crate) fn bridge(home: &Path) -> anyhow::Result<(u16, u64)> {
    let shown: serde_json::Value = serde_json::from_str(&fs::read_to_string(announcement(home))?)?;
    let address: std::net::SocketAddr = shown["address"].as_str().context("no address")?.parse()?;
    Ok((address.port(), shown["pid"].as_u64().context("no pid")?))
}

fn announcement(home: &Path) -> PathBuf {
    home.join(DATA).join("bridge.json")
}

fn is_true(value: &serde_json::Value) -> bool {
    !matches!(value, serde_json::Value::Null | serde_json::Value::Bool(false))
}

/// Returns the folder of the screenshots; git ignores it.
fn shots() -> anyhow::Result<PathBuf> {
    let folder = programs()?.join("window-shots");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

async fn eventually(what: &str, mut happened: impl FnMut() -> bool) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut tick = interval(Duration::from_millis(10));
    while !happened() {
        if start.elapsed() > PATIENCE {
            bail!("{what} did not happen within {PATIENCE:?}");
        }
        tick.tick().await;
    }
    Ok(())
}
