//! llama.cpp's llama-server: a real OpenAI-compatible server.

use anyhow::{Context as _, Result, bail, ensure};
use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

const CONTEXT: &str = "4096";

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct LlamaServer {
    child: Child,
    port: u16,
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl LlamaServer {
    /// Starts the server with SmolLM2.
    pub fn start() -> Result<Self> {
        Self::with(&small_model()?, &[])
    }

    /// Starts the server with a model and more arguments on a free port, and waits until it has loaded the model.
    pub fn with(model: &Path, more: &[&str]) -> Result<Self> {
        let server = match std::env::var_os("LLAMA_SERVER") {
            Some(path) => PathBuf::from(path),
            None => target()?.join("llama-server/llama-server"),
        };
        ensure!(server.is_file(), "{} is missing; scripts/llama-server.sh puts it there", server.display());
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let child = Command::new(&server)
            // More threads than free cores make a model many times slower.
            .args(["--threads", "1", "--threads-batch", "1", "--parallel", "1", "--jinja"])
            .args(["--host", "127.0.0.1", "--ctx-size", CONTEXT, "--port", &port.to_string(), "--model"])
            .arg(model)
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| server.display().to_string())?;
        let mut server = Self { child, port };
        for _ in 0..600 {
            if server.is_ready() {
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                bail!("llama-server ended at once: {status}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("llama-server does not begin to serve");
    }

    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    fn is_ready(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.write_all(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }
}

/// Returns the path of SmolLM2, a real small chat model.
pub fn small_model() -> Result<PathBuf> {
    let folder = match std::env::var_os("OPENAGENTS_TEST_MODELS") {
        Some(folder) => PathBuf::from(folder),
        None => target()?.join("test-models"),
    };
    let path = folder.join("SmolLM2-135M-Instruct.gguf");
    ensure!(path.is_file(), "{} is missing; scripts/test-models.sh puts it there", path.display());
    Ok(path)
}

/// Returns the folder that cargo builds into: a test is in `target/PROFILE/deps`.
fn target() -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    Ok(test.ancestors().nth(3).context("a test lives in target/PROFILE/deps")?.to_path_buf())
}
