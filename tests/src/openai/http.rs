//! A small HTTP server. It keeps its requests, and the test writes each response byte by byte.

use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Maximum wait for a client that sends nothing.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct Request {
    /// `POST /v1/chat/completions HTTP/1.1` and the headers, one per line.
    pub head: String,
    /// The body as JSON; `Null` if it is not JSON.
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// The response being written.
#[derive(Debug)]
pub struct Reply {
    stream: TcpStream,
    /// Number of the request at this server, from 0.
    pub number: usize,
}

impl Reply {
    /// Writes a status and headers, one per line; everything written after that is the body,
    /// up to the end of the connection.
    pub fn head(&mut self, status: u16, headers: &str) -> io::Result<()> {
        let headers: String = headers.lines().map(|line| format!("{}\r\n", line.trim())).collect();
        self.bytes(format!("HTTP/1.1 {status} X\r\n{headers}connection: close\r\n\r\n").as_bytes())
    }

    /// Writes the head of a stream of events.
    pub fn events(&mut self) -> io::Result<()> {
        self.head(200, "content-type: text/event-stream")
    }

    /// Writes one event.
    pub fn event(&mut self, data: &Value) -> io::Result<()> {
        self.bytes(format!("data: {data}\n\n").as_bytes())
    }

    /// Writes a whole JSON response.
    pub fn json(&mut self, status: u16, body: &Value) -> io::Result<()> {
        self.head(status, "content-type: application/json")?;
        self.bytes(body.to_string().as_bytes())
    }

    /// Writes these bytes immediately.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Waits until the client has disconnected.
    pub fn until_gone(&mut self) -> io::Result<()> {
        let mut byte = [0];
        while self.stream.read(&mut byte)? > 0 {}
        Ok(())
    }
}

type Asked = Arc<Mutex<Vec<Request>>>;

/// A server on a free port. Stopped when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    asked: Asked,
    ended: Arc<AtomicBool>,
}

impl Server {
    /// Starts a server. Every request is answered on a separate thread.
    pub fn start(
        answer: impl Fn(&Request, &mut Reply) -> io::Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let (asked, ended, answer) = (Asked::default(), Arc::new(AtomicBool::new(false)), Arc::new(answer));
        let server = Self { address, asked: Arc::clone(&asked), ended: Arc::clone(&ended) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Acquire) {
                    break;
                }
                let (Ok(stream), asked, answer) = (stream, Arc::clone(&asked), Arc::clone(&answer)) else {
                    continue;
                };
                std::thread::spawn(move || {
                    // Some tests are about clients that disconnect.
                    let _ = serve(stream, &asked, &*answer);
                });
            }
        });
        Ok(server)
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests received so far.
    pub fn asked(&self) -> Vec<Request> {
        lock(&self.asked).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(
    stream: TcpStream,
    asked: &Asked,
    answer: &(impl Fn(&Request, &mut Reply) -> io::Result<()> + ?Sized),
) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let mut request = Request { head: head.replace("\r\n", "\n"), body: Value::Null };
    let length = request.header("content-length").map_or(Ok(0), str::parse).context("a length")?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    request.body = serde_json::from_slice(&body).unwrap_or_default();
    let number = {
        let mut asked = lock(asked);
        asked.push(request.clone());
        asked.len() - 1
    };
    Ok(answer(&request, &mut Reply { stream, number })?)
}

fn lock(asked: &Asked) -> MutexGuard<'_, Vec<Request>> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}
