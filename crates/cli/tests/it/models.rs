//! `openagents models` over the real binary and a server on this machine.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
};
use tempfile::TempDir;

/// A GGUF header without tensors is a complete file.
fn model() -> Vec<u8> {
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    };
    let pairs = [("general.architecture", "gpt-oss"), ("general.name", "Tiny"), ("general.type", "model")];
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend(0_u64.to_le_bytes());
    out.extend((pairs.len() as u64).to_le_bytes());
    for (key, value) in pairs {
        text(&mut out, key);
        out.extend(8_u32.to_le_bytes());
        text(&mut out, value);
    }
    out.resize(200_000, 7);
    out
}

/// SHA-256 of [`model`].
const SHA256: &str = "20834ccc17fb173105bfabb2dfc42a83a1ed1a8d6946911d24ef3cb042c72714";

struct Stage {
    home: TempDir,
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new(sha256: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let record = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, sha256, &record);
            }
        });
        Self { home: tempfile::tempdir().unwrap(), url, asked }
    }

    fn models(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openagents"));
        command.arg("models").args(arguments).stdin(Stdio::null());
        command.env_remove("OPENAGENTS_LLAMA_MODEL").env_remove("RUST_LOG");
        command.env("OPENAGENTS_HOME", self.home.path()).env("OPENAGENTS_MODELS_URL", &self.url);
        command.output().unwrap()
    }

    fn card(&self, id: &str) -> Value {
        let list: Value = serde_json::from_slice(&self.models(&["list", "--json"]).stdout).unwrap();
        let found = list["models"].as_array().unwrap().iter().find(|card| card["id"] == id);
        found.unwrap_or_else(|| panic!("no {id} in {list}")).clone()
    }
}

fn answer(mut stream: TcpStream, sha256: &str, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    let (commit, body) = ("c".repeat(40), model());
    let body = if path.ends_with("/revision/main") {
        format!("{{\"sha\":\"{commit}\"}}").into_bytes()
    } else if path.contains("/tree/") {
        let size = body.len();
        let name = "GPT-OSS-20B-mxfp4.gguf";
        format!("[{{\"path\":\"{name}\",\"size\":{size},\"lfs\":{{\"oid\":\"{sha256}\"}}}}]").into_bytes()
    } else {
        body
    };
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(&body)
}

fn told(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn model_is_downloaded_verified_and_removed() {
    let stage = Stage::new(SHA256);
    let (code, text) = told(&stage.models(&["download"]));
    assert_eq!(code, Some(2));
    assert!(text.contains("Apache-2.0") && text.contains("--accept-licence"), "{text}");
    assert!(stage.asked.lock().unwrap().is_empty());
    let (code, text) = told(&stage.models(&["download", "--accept-licence"]));
    assert!(code == Some(0) && text.contains("GPTOSS 20B is ready: "), "{text}");
    assert_eq!(stage.card("gpt-oss-20b")["verified"], true);
    let (code, text) = told(&stage.models(&["verify"]));
    assert!(code == Some(0) && text.contains("verified"), "{text}");
    let file = stage.home.path().join("models/gpt-oss-20b-MXFP4.gguf");
    assert_eq!(std::fs::read(&file).unwrap(), model());
    std::fs::write(&file, vec![0; 200_000]).unwrap();
    assert_eq!(stage.models(&["verify"]).status.code(), Some(1));
    let (code, text) = told(&stage.models(&["remove", "gpt-oss-20b"]));
    assert!(code == Some(2) && text.contains("--yes"), "{text}");
    assert!(stage.models(&["remove", "gpt-oss-20b", "--yes"]).status.success());
    assert_eq!(stage.card("gpt-oss-20b")["status"]["state"], "not_downloaded");
    assert!(!file.exists());
}

#[test]
fn download_with_wrong_hash_leaves_nothing() {
    let stage = Stage::new("0000000000000000000000000000000000000000000000000000000000000000");
    let (code, text) = told(&stage.models(&["download", "--accept-licence"]));
    assert!(code == Some(1) && text.contains("damaged"), "{text}");
    // Clients of the same bridge see why; the next bridge starts fresh.
    assert_eq!(stage.card("gpt-oss-20b")["status"]["state"], "error");
    let begun = std::time::Instant::now();
    while openagents_bridge::running(stage.home.path()).is_some() {
        assert!(begun.elapsed().as_secs() < 60, "the temporary bridge does not end");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(stage.card("gpt-oss-20b")["status"]["state"], "not_downloaded");
}

#[test]
fn added_file_is_used_in_place() {
    let stage = Stage::new(SHA256);
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("tiny.gguf");
    std::fs::write(&file, "text").unwrap();
    let (code, text) = told(&stage.models(&["add", file.to_str().unwrap()]));
    assert!(code == Some(1) && text.contains("is not a GGUF file"), "{text}");
    std::fs::write(&file, model()).unwrap();
    let (code, text) = told(&stage.models(&["add", file.to_str().unwrap()]));
    assert!(code == Some(0) && text.contains("Tiny is now in use"), "{text}");
    assert_eq!(stage.card("tiny")["inUse"], true);
    assert!(stage.models(&["use", "gpt-oss-20b"]).status.success());
    assert_eq!(stage.card("tiny")["inUse"], false);
    let (code, text) = told(&stage.models(&["use", "nothing"]));
    assert!(code == Some(1) && text.contains("no model nothing"), "{text}");
    assert!(stage.models(&["remove", "tiny", "--yes"]).status.success());
    assert!(file.exists());
}
