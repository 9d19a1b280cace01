//! The bridge's process: started, killed, and restarted on the same port and data folder.

use super::ledger::Ledger;
use crate::terminal::program;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A bridge whose agent sends many updates. Stopped with its test.
#[derive(Debug)]
pub struct BusyBridge {
    folder: PathBuf,
    child: Child,
    lives: Vec<PathBuf>,
    pub port: u16,
    /// The local token of its first life.
    pub token: String,
    /// The file with the token; every life has another one.
    pub token_file: PathBuf,
}

impl BusyBridge {
    /// Starts a bridge with its data below `folder`.
    pub fn start(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder.join("workspace"))?;
        let (child, begun, ledger) = launch(folder, 0, 0)?;
        let port = u16::try_from(begun["port"].as_u64().context("port")?)?;
        let token_file = PathBuf::from(begun["token_file"].as_str().context("token_file")?);
        let token = std::fs::read_to_string(&token_file)?.trim().to_owned();
        Ok(Self { folder: folder.to_owned(), child, lives: vec![ledger], port, token, token_file })
    }

    /// Kills the process as a power cut would: no destructor, no flush.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts the next life after a kill.
    pub fn restart(&mut self) -> Result<()> {
        let (child, _, ledger) = launch(&self.folder, self.port, self.lives.len())?;
        self.child = child;
        self.lives.push(ledger);
        Ok(())
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the folder that clients work in.
    pub fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    pub fn database(&self) -> PathBuf {
        self.folder.join("home").join("openagents.sqlite")
    }

    /// Reads the ledger of all lives. Every life except the last ended with a kill.
    pub fn ledger(&self) -> Result<Ledger> {
        let mut ledger = Ledger::default();
        for (life, path) in self.lives.iter().enumerate() {
            ledger.load(path, life + 1 < self.lives.len())?;
        }
        Ok(ledger)
    }
}

impl Drop for BusyBridge {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn launch(folder: &Path, port: u16, life: usize) -> Result<(Child, Value, PathBuf)> {
    let ledger = folder.join(format!("ledger-{life}"));
    let mut command = Command::new(program("busy-bridge")?);
    command.arg(folder.join("home")).arg(port.to_string()).arg(life.to_string()).arg(&ledger);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("stdout")?).read_line(&mut line)?;
    match serde_json::from_str(&line) {
        Ok(begun) => Ok((child, begun, ledger)),
        Err(error) => {
            child.kill()?;
            child.wait()?;
            Err(error).with_context(|| format!("the bridge said {line:?}"))
        }
    }
}
