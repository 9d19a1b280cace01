//! A local model server with configurable faults.

use super::manifest::hex;
use sha2::{Digest, Sha256};
use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// The file on the server.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) body: Vec<u8>,
    pub(crate) name: String,
    pub(crate) commit: String,
    pub(crate) etag: String,
    pub(crate) sha256: String,
}

impl Share {
    /// Content of `bytes` bytes derived from `seed`.
    pub(crate) fn new(seed: u8, bytes: usize) -> Self {
        Self::from_body((0..bytes).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect(), seed)
    }

    pub(crate) fn from_body(body: Vec<u8>, seed: u8) -> Self {
        let sha256 = hex(&Sha256::digest(&body));
        let name = "gpt-oss-20b-mxfp4.gguf".to_owned();
        Self { body, name, commit: format!("{seed:040x}"), etag: format!("\"v{seed}\""), sha256 }
    }
}

/// The response to one request for the file.
#[derive(Debug, Clone)]
pub(crate) enum Behavior {
    Well,
    /// Drops the connection after this many bytes.
    Drop(usize),
    /// Stalls after this many bytes until the client disconnects.
    Hold(usize),
    /// Sends the whole file, ignoring the range.
    IgnoreRange,
    Status(u16),
    /// Sends the whole file with another ETag.
    Etag(&'static str),
    /// Sends this many bytes without a content length.
    Short(usize),
    /// Sends this many extra bytes.
    Long(usize),
    Redirect(&'static str),
}

#[derive(Debug)]
struct Stage {
    share: Share,
    behaviors: VecDeque<Behavior>,
    /// The offset and `If-Range` of each request for the file.
    asked: Vec<(Option<u64>, Option<String>)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stage: Arc<Mutex<Stage>>,
}

impl Server {
    /// Uses one behaviour per request, then answers correctly.
    pub(crate) fn start(share: Share, behaviors: impl IntoIterator<Item = Behavior>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let behaviors = behaviors.into_iter().collect();
        let stage = Arc::new(Mutex::new(Stage { share, behaviors, asked: Vec::new() }));
        let server = Self { address, stage: stage.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let stage = stage.clone();
                std::thread::spawn(move || serve(stream, &stage));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves another file from now on.
    pub(crate) fn replace(&self, share: Share) {
        self.stage.lock().unwrap().share = share;
    }

    pub(crate) fn asked(&self) -> Vec<(Option<u64>, Option<String>)> {
        self.stage.lock().unwrap().asked.clone()
    }
}

fn serve(stream: TcpStream, stage: &Mutex<Stage>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let request = lines.next()?.ok()?;
    let path = request.split(' ').nth(1)?.to_owned();
    let headers: Vec<String> =
        lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let header = |name: &str| {
        let found = headers.iter().find(|line| line.to_ascii_lowercase().starts_with(name))?;
        Some(found.split_once(": ")?.1.to_owned())
    };
    let share = stage.lock().unwrap().share.clone();
    let commit = &share.commit;
    if path.ends_with("/revision/main") {
        return json(stream, &format!("{{\"sha\":\"{commit}\"}}"));
    }
    if path.ends_with(&format!("/tree/{commit}")) {
        let (name, size, oid) = (&share.name, share.body.len(), &share.sha256);
        let lfs = format!("{{\"oid\":\"{oid}\",\"size\":{size}}}");
        let readme = "{\"path\":\"README.md\",\"size\":5}";
        return json(stream, &format!("[{readme},{{\"path\":\"{name}\",\"size\":{size},\"lfs\":{lfs}}}]"));
    }
    let from =
        header("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let behavior = {
        let mut stage = stage.lock().unwrap();
        stage.asked.push((from, header("if-range")));
        stage.behaviors.pop_front().unwrap_or(Behavior::Well)
    };
    file(stream, &share, from, header("if-range"), &behavior)
}

fn json(mut stream: TcpStream, body: &str) -> Option<()> {
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .ok()
}

fn file(
    mut stream: TcpStream,
    share: &Share,
    from: Option<u64>,
    if_range: Option<String>,
    behavior: &Behavior,
) -> Option<()> {
    let etag = if let Behavior::Etag(other) = behavior { other } else { share.etag.as_str() };
    let size = share.body.len();
    let same = if_range.is_none_or(|known| known == etag);
    let from = from.filter(|_| same && !matches!(behavior, Behavior::IgnoreRange));
    let start = from.unwrap_or(0) as usize;
    let mut body = share.body.get(start..)?.to_vec();
    match behavior {
        Behavior::Status(status) => {
            return write!(stream, "HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .ok();
        }
        Behavior::Redirect(to) => {
            let head = "Content-Length: 0\r\nConnection: close";
            return write!(stream, "HTTP/1.1 302 Found\r\nLocation: {to}\r\n{head}\r\n\r\n").ok();
        }
        _ => {}
    }
    match from {
        Some(_) => {
            write!(stream, "HTTP/1.1 206 Part\r\nContent-Range: bytes {start}-{}/{size}\r\n", size - 1)
        }
        None => write!(stream, "HTTP/1.1 200 OK\r\n"),
    }
    .ok()?;
    write!(stream, "ETag: {etag}\r\nConnection: close\r\n").ok()?;
    match *behavior {
        Behavior::Short(bytes) => body.truncate(bytes),
        Behavior::Long(bytes) => body.extend(vec![7; bytes]),
        _ => write!(stream, "Content-Length: {}\r\n", body.len()).ok()?,
    }
    stream.write_all(b"\r\n").ok()?;
    if let Behavior::Drop(bytes) | Behavior::Hold(bytes) = *behavior {
        body.truncate(bytes);
    }
    stream.write_all(&body).ok()?;
    stream.flush().ok()?;
    if matches!(behavior, Behavior::Hold(_)) {
        // Until the client disconnects.
        let _ = stream.read(&mut [0]);
    }
    Some(())
}
