//! A client of the remote transport, request by request.

use super::{Client, PATIENCE, TestBridge};
use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderValue, Request, StatusCode, header},
    response::Response,
};
use eventsource_stream::{EventStream, Eventsource};
use futures::StreamExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::{collections::VecDeque, net::Ipv4Addr};
use tokio::{net::TcpStream, time::timeout};

pub fn acp_request(method: &str, token: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri("/acp").header("authorization", format!("Bearer {token}"))
}

/// Sends a request over a new socket.
pub async fn exchange(port: u16, request: Request<Body>) -> Response {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = request;
    let host = HeaderValue::from_str(&format!("127.0.0.1:{port}")).unwrap();
    request.headers_mut().entry(header::HOST).or_insert(host);
    timeout(3 * PATIENCE, sender.send_request(request))
        .await
        .expect("an answer in time")
        .unwrap()
        .map(Body::new)
}

pub async fn text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// One connection of the remote transport.
pub struct Remote {
    port: u16,
    pub token: String,
    pub id: String,
    next_id: u64,
}

impl Remote {
    pub async fn connect(test: &TestBridge) -> Self {
        Self::connect_with(test, test.bridge.token(), json!({})).await
    }

    /// Connects as a paired device.
    pub async fn connect_as(test: &TestBridge, token: &str) -> Self {
        Self::connect_with(test, token, json!({})).await
    }

    /// Connects like our page, with one stream for everything.
    pub async fn connect_with_one_stream(test: &TestBridge) -> Self {
        let capabilities = json!({"_meta": {"openagents": {"oneStream": true, "approvals": true}}});
        Self::connect_with(test, test.bridge.token(), capabilities).await
    }

    async fn connect_with(test: &TestBridge, token: &str, capabilities: Value) -> Self {
        let (port, token) = (test.port(), token.to_owned());
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let frame = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let request = acp_request("POST", &token).header("content-type", "application/json");
        let response = exchange(port, request.body(Body::from(frame.to_string())).unwrap()).await;
        assert_eq!(response.status(), StatusCode::OK);
        let id = response.headers()["acp-connection-id"].to_str().unwrap().to_owned();
        let initialized: Value = serde_json::from_str(&text(response).await).unwrap();
        assert_eq!(initialized["id"], 0);
        assert_eq!(initialized["result"]["_meta"]["openagents"]["connection"], id);
        Self { port, token, id, next_id: 1 }
    }

    pub fn acp_request(&self, method: &str) -> axum::http::request::Builder {
        acp_request(method, &self.token).header("acp-connection-id", &self.id)
    }

    pub async fn post(&self, frame: &Value) -> Response {
        let mut request = self.acp_request("POST").header("content-type", "application/json");
        if let Some(session) = frame["params"]["sessionId"].as_str() {
            request = request.header("acp-session-id", session);
        }
        exchange(self.port, request.body(Body::from(frame.to_string())).unwrap()).await
    }

    /// Posts a request and returns its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        assert_eq!(self.post(&frame).await.status(), StatusCode::ACCEPTED, "{frame}");
        id
    }

    pub async fn get(&self, session: Option<&str>) -> Response {
        let mut request = self.acp_request("GET").header("accept", "text/event-stream");
        if let Some(session) = session {
            request = request.header("acp-session-id", session);
        }
        exchange(self.port, request.body(Body::empty()).unwrap()).await
    }

    pub async fn open(&self, session: Option<&str>) -> Events {
        let response = self.get(session).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { stream: response.into_body().into_data_stream().eventsource(), notes: VecDeque::new() }
    }

    /// Opens a stream once the server has noticed that the previous one is gone.
    pub async fn open_again(&self, session: Option<&str>) -> Events {
        loop {
            let response = self.get(session).await;
            if response.status() != StatusCode::CONFLICT {
                let stream = response.into_body().into_data_stream().eventsource();
                return Events { stream, notes: VecDeque::new() };
            }
        }
    }

    pub async fn delete(&self) -> StatusCode {
        exchange(self.port, self.acp_request("DELETE").body(Body::empty()).unwrap()).await.status()
    }
}

/// An event stream; dropping it closes its socket.
pub struct Events {
    stream: EventStream<BodyDataStream>,
    /// Notifications received while waiting for an answer.
    pub notes: VecDeque<Value>,
}

impl Events {
    /// Returns the next frame; `None` if the stream has ended.
    pub async fn next(&mut self) -> Option<Value> {
        let event = timeout(PATIENCE, self.stream.next()).await.expect("an event in time")?;
        Some(serde_json::from_str(&event.ok()?.data).unwrap())
    }

    pub async fn frame(&mut self) -> Value {
        self.next().await.expect("a frame")
    }

    /// Returns the answer to a request; keeps notifications.
    pub async fn answer(&mut self, id: u64) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["id"] == id && frame["method"].is_null() {
                assert!(frame["error"].is_null(), "{frame}");
                return frame["result"].clone();
            }
            self.notes.push_back(frame);
        }
    }

    /// Returns the next notification or request of a method.
    pub async fn called(&mut self, method: &str) -> Value {
        loop {
            let frame = match self.notes.pop_front() {
                Some(frame) => frame,
                None => self.frame().await,
            };
            if frame["method"] == method {
                return frame;
            }
        }
    }
}

/// Pairs a device; returns its token and id.
pub async fn pair(test: &TestBridge, desktop: &mut Client, scope: &str) -> (String, String) {
    let offer = desktop.request("_openagents/devices/pair", json!({})).await;
    let claim = json!({"code": offer["pairing"]["code"], "name": "Phone"});
    let asked = post(test.port(), "/pair", &claim).await;
    let list = desktop.request("_openagents/devices/list", json!({})).await;
    let allow = json!({"requestId": list["requests"][0]["id"], "scope": scope});
    desktop.request("_openagents/devices/allow", allow).await;
    let allowed = post(test.port(), "/pair/wait", &json!({"request": asked["request"]})).await;
    let field = |value: &Value| value.as_str().unwrap_or_else(|| panic!("not allowed: {allowed}")).to_owned();
    (field(&allowed["token"]), field(&allowed["device"]["id"]))
}

async fn post(port: u16, path: &str, body: &Value) -> Value {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .header("origin", format!("http://127.0.0.1:{port}"))
        .body(Body::from(body.to_string()));
    serde_json::from_str(&text(exchange(port, request.unwrap()).await).await).unwrap()
}
