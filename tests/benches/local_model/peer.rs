//! llama-server on the same file, called as its own clients call it.

use crate::{CONTEXT, Run};
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

pub(crate) struct Peer {
    child: Child,
    port: u16,
    program: PathBuf,
    instructions: String,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    pub(crate) async fn start(model: &Path, instructions: &str) -> Result<Self> {
        let program = PathBuf::from(std::env::var_os("LLAMA_SERVER").context("LLAMA_SERVER")?);
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let child = Command::new(&program)
            .args(["--threads", "1", "--threads-batch", "1", "--parallel", "1", "--host", "127.0.0.1"])
            .args(["--ctx-size", &CONTEXT.to_string(), "--port", &port.to_string()])
            .arg("--model")
            .arg(model)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let peer = Self { child, port, program, instructions: instructions.to_owned() };
        for _ in 0..300 {
            if let Ok(answer) = peer.ask("GET", "/health", &Value::Null).await
                && answer.status == 200
            {
                return Ok(peer);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("llama-server does not begin to serve");
    }

    pub(crate) async fn run(&mut self, question: &str, tokens: u32) -> Result<Run> {
        let mut messages = vec![json!({"role": "user", "content": question})];
        if !self.instructions.is_empty() {
            messages.insert(0, json!({"role": "system", "content": self.instructions}));
        }
        let body = json!({
            "messages": messages, "stream": true, "temperature": 0, "max_tokens": tokens,
            "stream_options": {"include_usage": true},
        });
        let asked = Instant::now();
        let mut answer = self.ask("POST", "/v1/chat/completions", &body).await?;
        if answer.status != 200 {
            bail!("llama-server answers {}", answer.status);
        }
        let (mut first, mut timings) = (None, Value::Null);
        while let Some(line) = answer.line().await? {
            let Some(data) = line.strip_prefix("data: ") else { continue };
            if data.starts_with("[DONE]") {
                break;
            }
            let event: Value = serde_json::from_str(data)?;
            if event["choices"][0]["delta"]["content"].as_str().is_some_and(|text| !text.is_empty()) {
                first.get_or_insert_with(|| asked.elapsed().as_secs_f64());
            }
            if !event["timings"].is_null() {
                timings = event["timings"].clone();
            }
        }
        let whole = asked.elapsed().as_secs_f64();
        let first = first.context("an answer without text")?;
        let figure = |key: &str| timings[key].as_f64().with_context(|| format!("no {key} in {timings}"));
        Ok(Run { first, rest: whole - first, read: figure("prompt_n")?, generated: figure("predicted_n")? })
    }

    /// Returns the server's resident memory in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .context("the memory of another process needs Linux's /proc")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    }

    /// Prints llama-bench's figures for the same file, for information.
    pub(crate) fn bench(&self, model: &Path) -> Result<()> {
        let program = self.program.with_file_name("llama-bench");
        let output = Command::new(program)
            .args(["-t", "1", "-p", "512", "-n", "128", "-r", "3", "-m"])
            .arg(model)
            .stderr(Stdio::null())
            .output()?;
        println!("\n{}", String::from_utf8_lossy(&output.stdout).trim());
        Ok(())
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Answer> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut answer = Answer { stream: BufReader::new(stream), status: 0 };
        let status = answer.line().await?.context("no answer")?;
        answer.status = status.split(' ').nth(1).unwrap_or_default().parse()?;
        Ok(answer)
    }
}

struct Answer {
    stream: BufReader<TcpStream>,
    status: u16,
}

impl Answer {
    /// Returns the next line; chunk sizes and headers are lines too, and are ignored.
    async fn line(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        let bytes = self.stream.read_line(&mut line).await?;
        Ok((bytes > 0).then(|| line.trim_end().to_owned()))
    }
}
