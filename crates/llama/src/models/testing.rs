//! A model server on this machine that misbehaves as it is told.

use super::verify::hex;
use sha2::{Digest, Sha256};
use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// What is served.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) body: Vec<u8>,
    /// The name in the listing.
    pub(crate) name: String,
    pub(crate) commit: String,
    pub(crate) etag: String,
    pub(crate) sha256: String,
}

impl Share {
    /// So many bytes that depend on `seed`.
    pub(crate) fn new(seed: u8, bytes: usize) -> Self {
        Self::of((0..bytes).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect(), seed)
    }

    pub(crate) fn of(body: Vec<u8>, seed: u8) -> Self {
        let sha256 = hex(&Sha256::digest(&body));
        let name = "gpt-oss-20b-mxfp4.gguf".to_owned();
        Self { body, name, commit: format!("{seed:040x}"), etag: format!("\"v{seed}\""), sha256 }
    }
}

/// How one request for the file is answered.
#[derive(Debug, Clone)]
pub(crate) enum Manner {
    Well,
    /// The connection breaks after so many bytes.
    Drop(usize),
    /// Nothing comes after so many bytes, until the client goes.
    Hold(usize),
    /// The whole file, whatever was asked for.
    IgnoreRange,
    Status(u16),
    /// Another ETag, and all of it.
    Etag(&'static str),
    /// So many bytes without saying how many they should be.
    Short(usize),
    /// As many bytes more.
    Long(usize),
    Redirect(&'static str),
}

#[derive(Debug)]
struct Stage {
    share: Share,
    manners: VecDeque<Manner>,
    /// Where each request for the file began, and its `If-Range`.
    asked: Vec<(Option<u64>, Option<String>)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stage: Arc<Mutex<Stage>>,
}

impl Server {
    /// Answers with one manner after the other, then well.
    pub(crate) fn start(share: Share, manners: impl IntoIterator<Item = Manner>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let manners = manners.into_iter().collect();
        let stage = Arc::new(Mutex::new(Stage { share, manners, asked: Vec::new() }));
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

    /// Serves something else from now on.
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
    let manner = {
        let mut stage = stage.lock().unwrap();
        stage.asked.push((from, header("if-range")));
        stage.manners.pop_front().unwrap_or(Manner::Well)
    };
    file(stream, &share, from, header("if-range"), &manner)
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
    manner: &Manner,
) -> Option<()> {
    let etag = if let Manner::Etag(other) = manner { other } else { share.etag.as_str() };
    let size = share.body.len();
    let same = if_range.is_none_or(|known| known == etag);
    let from = from.filter(|_| same && !matches!(manner, Manner::IgnoreRange));
    let start = from.unwrap_or(0) as usize;
    let mut body = share.body.get(start..)?.to_vec();
    match manner {
        Manner::Status(status) => {
            return write!(stream, "HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .ok();
        }
        Manner::Redirect(to) => {
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
    match *manner {
        Manner::Short(bytes) => body.truncate(bytes),
        Manner::Long(bytes) => body.extend(vec![7; bytes]),
        _ => write!(stream, "Content-Length: {}\r\n", body.len()).ok()?,
    }
    stream.write_all(b"\r\n").ok()?;
    if let Manner::Drop(bytes) | Manner::Hold(bytes) = *manner {
        body.truncate(bytes);
    }
    stream.write_all(&body).ok()?;
    stream.flush().ok()?;
    if matches!(manner, Manner::Hold(_)) {
        // Until the client goes.
        let _ = stream.read(&mut [0]);
    }
    Some(())
}
