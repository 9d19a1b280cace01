//! Pairing a phone over plain HTTP requests.

use super::{Client, PATIENCE, TestBridge, acp};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

pub async fn connect_from(address: Ipv4Addr, port: u16) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    socket.connect((Ipv4Addr::LOCALHOST, port).into()).await.unwrap()
}

/// Sends a raw request and returns the whole response.
pub async fn http(port: u16, request: &str) -> String {
    http_from(Ipv4Addr::LOCALHOST, port, request).await
}

pub async fn http_from(address: Ipv4Addr, port: u16, request: &str) -> String {
    let mut stream = connect_from(address, port).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A request that is refused early may be reset after its response.
    let read = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(2 * PATIENCE, read).await.expect("an answer in time");
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer:?}"))
}

/// Returns a request as a page sends it.
pub fn posting(port: u16, path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub async fn post(port: u16, path: &str, body: &Value) -> (u16, Value) {
    let answer = http(port, &posting(port, path, body)).await;
    let text = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status(&answer), serde_json::from_str(text).unwrap_or(Value::Null))
}

pub async fn code(desk: &mut Client) -> String {
    let snapshot = desk.request("_openagents/devices/pair", json!({})).await;
    snapshot["pairing"]["code"].as_str().unwrap().to_owned()
}

/// Sends the code and returns the response.
pub async fn claim(port: u16, code: &str, name: &str) -> Value {
    let (status, answer) = post(port, "/pair", &json!({"code": code, "name": name})).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Returns the pending request with these digits.
pub async fn seen(desk: &mut Client, compare: &Value) -> Value {
    let snapshot = desk.request("_openagents/devices/list", json!({})).await;
    let requests = snapshot["requests"].as_array().unwrap();
    requests.iter().find(|request| request["compare"] == *compare).unwrap().clone()
}

pub struct Paired {
    pub id: String,
    pub token: String,
}

/// Pairs a device from the code to the token.
pub async fn pair(test: &TestBridge, desk: &mut Client, name: &str, scope: &str) -> Paired {
    pair_at(test.port(), desk, name, scope).await
}

/// Pairs a device with the bridge at `port`.
pub async fn pair_at(port: u16, desk: &mut Client, name: &str, scope: &str) -> Paired {
    let code = code(desk).await;
    let claim = claim(port, &code, name).await;
    let request = seen(desk, &claim["compare"]).await;
    let allow = json!({"requestId": request["id"], "scope": scope});
    desk.request("_openagents/devices/allow", allow).await;
    let (status, answer) = post(port, "/pair/wait", &json!({"request": claim["request"]})).await;
    assert_eq!((status, &answer["state"]), (200, &json!("allowed")), "{answer}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Paired { id: text(&answer["device"]["id"]), token: text(&answer["token"]) }
}

impl Paired {
    pub async fn connect(&self, test: &TestBridge) -> Client {
        acp(test.port(), &self.token).await
    }
}
