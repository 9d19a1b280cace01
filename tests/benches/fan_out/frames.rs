//! A minimal WebSocket reader. It copies nothing, so that many readers cost little.

use anyhow::{Result, bail, ensure};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// One connection.
#[derive(Debug)]
pub(crate) struct Frames {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    begin: usize,
    end: usize,
}

impl Frames {
    /// Connects; with a token, to the ACP endpoint.
    pub(crate) async fn connect(port: u16, token: Option<&str>, buffer: usize) -> Result<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let authorization =
            token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!(
            "GET /acp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{authorization}\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        // Nothing follows the head, because the server sends nothing before it is asked.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        ensure!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Ok(Self { stream, buffer: vec![0; buffer], begin: 0, end: 0 })
    }

    pub(crate) async fn send(&mut self, text: &str) -> Result<()> {
        self.write_frame(TEXT, text.as_bytes()).await
    }

    async fn write_frame(&mut self, code: u8, bytes: &[u8]) -> Result<()> {
        // Masked with zeros: masking is required, concealing is not.
        let mut frame = vec![0x80 | code];
        match u16::try_from(bytes.len())? {
            short @ 0..126 => frame.push(0x80 | short.to_le_bytes()[0]),
            long => {
                frame.push(0x80 | 126);
                frame.extend(long.to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(bytes);
        Ok(self.stream.write_all(&frame).await?)
    }

    /// Waits for the next text and passes it to `take`.
    pub(crate) async fn next<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Result<T> {
        loop {
            let Some((code, from, to)) = self.whole_frame()? else {
                self.fill().await?;
                continue;
            };
            self.begin = to;
            match code {
                TEXT => return Ok(take(&self.buffer[from..to])),
                PING => {
                    let bytes = self.buffer[from..to].to_vec();
                    self.write_frame(PONG, &bytes).await?;
                }
                CLOSE => bail!("closed: {}", String::from_utf8_lossy(&self.buffer[from..to])),
                _ => {}
            }
        }
    }

    /// Finds a whole frame in the buffer; returns its opcode and the range of its payload.
    fn whole_frame(&mut self) -> Result<Option<(u8, usize, usize)>> {
        let ready = &self.buffer[self.begin..self.end];
        let [first, second, rest @ ..] = ready else { return Ok(None) };
        let (length, head) = match (second & 0x7f, rest) {
            (126, [one, two, ..]) => (usize::from(u16::from_be_bytes([*one, *two])), 4),
            (127, bytes) if bytes.len() >= 8 => {
                let mut length = [0; 8];
                length.copy_from_slice(&bytes[..8]);
                (usize::try_from(u64::from_be_bytes(length))?, 10)
            }
            (126 | 127, _) => return Ok(None),
            (short, _) => (usize::from(short), 2),
        };
        let code = first & 0x0f;
        let needed = head + length;
        if ready.len() < needed {
            if needed > self.buffer.len() {
                self.buffer.resize(needed, 0);
            }
            return Ok(None);
        }
        Ok(Some((code, self.begin + head, self.begin + needed)))
    }

    async fn fill(&mut self) -> Result<()> {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        let read = self.stream.read(&mut self.buffer[self.end..]).await?;
        ensure!(read > 0, "the server closed the connection");
        self.end += read;
        Ok(())
    }
}
