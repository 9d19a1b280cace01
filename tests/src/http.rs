//! One request, as our page in a browser sends it.

use anyhow::{Context as _, Result};
use serde_json::Value;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// Limit of every wait; longer means a hang.
const HANGS: Duration = Duration::from_secs(60);

/// Posts JSON to a bridge on this machine and returns the status and the JSON response.
pub fn post(port: u16, path: &str, body: &Value) -> Result<(u16, Value)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(HANGS))?;
    let (host, body) = (format!("127.0.0.1:{port}"), body.to_string());
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    let status = head.split(' ').nth(1).context("a status")?.parse()?;
    Ok((status, serde_json::from_str(body).with_context(|| answer.clone())?))
}
