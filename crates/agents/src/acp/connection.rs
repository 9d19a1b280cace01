//! A running agent and the frames that go both ways.

use super::{
    config::AcpCommand,
    frame::{self, Incoming, RpcError},
    lines::{self, Line},
};
use crate::process::{Group, Groups, LastWords, Pipe, exit_in_words, filtered};
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{BufReader, Write as _},
    path::Path,
    process::{ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

/// Bytes of a line. Whole files travel in one.
const LINE: usize = 16 << 20;
/// Lines that were read and not taken yet: an agent is read no faster than its words go into the log.
const AHEAD: usize = 8;
/// Bytes that wait for an agent to read them.
const UNREAD: usize = 64 << 20;
/// Bytes of the end of what an agent says on its standard error.
const LAST_WORDS: usize = 4 << 10;
/// Lines in a row that are no message, before an agent is taken for something else.
const BAD_LINES: u64 = 1_000;
/// An agent whose output has ended gets so long to end itself; one that has ended, for its output and its last words.
const LINGER: Duration = Duration::from_millis(500);

/// What came of a request.
pub(super) type Reply = Result<Value, RpcError>;

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    name: String,
    pub(super) group: Arc<Group>,
    outgoing: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    unread: Arc<AtomicUsize>,
    waiting: Mutex<HashMap<u64, mpsc::Sender<Reply>>>,
    last_id: AtomicU64,
    last_words: Option<Arc<LastWords>>,
    /// Why we ended it, where it did not end by itself.
    verdict: Mutex<Option<String>>,
    /// Lines that were no message, and answers that nobody waited for.
    passed_over: AtomicU64,
}

/// What is read.
#[derive(Debug)]
pub(super) struct Lines {
    lines: mpsc::Receiver<Line>,
    bad_in_a_row: u64,
}

/// What comes next from an agent.
#[derive(Debug)]
pub(super) enum Next {
    Frame(Incoming),
    /// Nothing came in time, or nothing that can be read.
    Nothing,
    /// Nothing will come any more.
    End,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

impl Connection {
    /// Starts an agent in a folder.
    pub(super) fn start(
        name: &str,
        command: &AcpCommand,
        folder: &Path,
        groups: &Groups,
    ) -> std::io::Result<(Arc<Self>, Lines)> {
        let mut process = Command::new(&command.program);
        process
            .args(&command.args)
            .current_dir(command.cwd.as_deref().unwrap_or(folder))
            .env_clear()
            .envs(filtered(&command.environment))
            .envs(filtered(&command.added))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (group, streams) = groups.start(&mut process)?;
        let (outgoing, frames) = mpsc::channel();
        let (sender, lines) = mpsc::sync_channel(AHEAD);
        let unread = Arc::new(AtomicUsize::new(0));
        let last_words =
            streams.stderr.map(|pipe| LastWords::of(Pipe::new(pipe, group.clone()), LAST_WORDS)).transpose();
        let started = [
            streams.stdin.map(|pipe| {
                let stdin = Pipe::new(pipe, group.clone());
                let unread = unread.clone();
                thread("agent stdin", move || write(stdin, &frames, &unread))
            }),
            streams.stdout.map(|pipe| {
                let stdout = Pipe::new(pipe, group.clone());
                thread("agent stdout", move || read(stdout, &sender))
            }),
        ];
        let started = started.into_iter().flatten().collect::<std::io::Result<()>>();
        let last_words = started.and(last_words).inspect_err(|_| group.kill())?;
        let connection = Self {
            name: name.to_owned(),
            group,
            outgoing: Mutex::new(Some(outgoing)),
            unread,
            waiting: Mutex::default(),
            last_id: AtomicU64::new(0),
            last_words,
            verdict: Mutex::default(),
            passed_over: AtomicU64::new(0),
        };
        Ok((Arc::new(connection), Lines { lines, bad_in_a_row: 0 }))
    }

    /// Sends a request whose answer is found by the id.
    pub(super) fn request(&self, method: &str, params: &Value) -> u64 {
        let id = self.last_id.fetch_add(1, Ordering::SeqCst);
        self.send(&frame::request(id, method, params));
        id
    }

    /// Sends a request. The answer never comes when the agent is gone: then the channel ends.
    pub(super) fn call(&self, method: &str, params: &Value) -> (u64, mpsc::Receiver<Reply>) {
        let id = self.last_id.fetch_add(1, Ordering::SeqCst);
        let (sender, reply) = mpsc::channel();
        lock(&self.waiting).insert(id, sender);
        self.send(&frame::request(id, method, params));
        (id, reply)
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.send(&frame::notification(method, params));
    }

    pub(super) fn respond(&self, id: &Value, result: Reply) {
        self.send(&frame::response(id, result));
    }

    /// Never blocks.
    fn send(&self, frame: &Value) {
        let mut line = frame.to_string().into_bytes();
        line.push(b'\n');
        let unread = self.unread.fetch_add(line.len(), Ordering::SeqCst) + line.len();
        if unread > UNREAD {
            return self.condemn(format!("{} does not read what it is told and was stopped", self.name));
        }
        if let Some(outgoing) = lock(&self.outgoing).as_ref() {
            // It fails when the agent is gone, which is told elsewhere.
            let _ = outgoing.send(line);
        }
    }

    /// Hands an answer to whoever waits for it.
    pub(super) fn resolve(&self, id: &Value, result: Reply) {
        let waiting = frame::number(id).and_then(|id| lock(&self.waiting).remove(&id));
        match waiting {
            // Whoever asked may have given up.
            Some(waiting) => drop(waiting.send(result)),
            None => self.pass_over("an answer that nobody waits for"),
        }
    }

    fn pass_over(&self, what: &str) {
        let count = self.passed_over.fetch_add(1, Ordering::SeqCst) + 1;
        tracing::debug!(agent = self.name, count, "passed over {what}");
    }

    /// Waits for the next message.
    pub(super) fn next(&self, lines: &mut Lines, limit: Duration) -> Next {
        match lines.lines.recv_timeout(limit) {
            Ok(Line::Whole(line)) => match frame::parse(&line) {
                Some(frame) => {
                    lines.bad_in_a_row = 0;
                    Next::Frame(frame)
                }
                None => {
                    lines.bad_in_a_row += 1;
                    if !line.iter().all(u8::is_ascii_whitespace) {
                        self.pass_over("a line that is no message");
                    }
                    if lines.bad_in_a_row < BAD_LINES {
                        return Next::Nothing;
                    }
                    let name = &self.name;
                    self.condemn(format!(
                        "{name} does not speak ACP: {BAD_LINES} lines in a row were no messages; it was stopped"
                    ));
                    Next::End
                }
            },
            Ok(Line::TooLong) => {
                let (name, megabytes) = (&self.name, LINE >> 20);
                self.condemn(format!("{name} sent a line of more than {megabytes} MiB and was stopped"));
                Next::End
            }
            Ok(Line::End) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                if self.group.wait(LINGER).is_none() {
                    self.condemn(format!("{} closed its output while it ran and was stopped", self.name));
                }
                Next::End
            }
            Err(mpsc::RecvTimeoutError::Timeout) => match self.group.ended() {
                // Somebody else holds its output open.
                Some(_) => match lines.lines.recv_timeout(LINGER) {
                    Ok(Line::Whole(line)) => frame::parse(&line).map_or(Next::Nothing, Next::Frame),
                    _ => Next::End,
                },
                None => Next::Nothing,
            },
        }
    }

    /// Ends it for a reason that is told. Returns at once.
    pub(super) fn condemn(&self, why: String) {
        lock(&self.verdict).get_or_insert(why);
        self.close();
    }

    /// Ends it. Returns at once.
    pub(super) fn close(&self) {
        if lock(&self.outgoing).is_none() {
            // It is told already.
            return;
        }
        // Once it has ended nobody knows what it has started.
        self.group.look();
        // First its input, so that it may end by itself.
        lock(&self.outgoing).take();
        lock(&self.waiting).clear();
        self.group.stop_after_a_pause();
    }

    /// Nobody waits for an answer any more.
    pub(super) fn is_gone(&self) -> bool {
        lock(&self.outgoing).is_none() || self.group.ended().is_some()
    }

    /// Says how it ended, and what it said last.
    pub(super) fn obituary(&self) -> String {
        let why = lock(&self.verdict).clone().unwrap_or_else(|| match self.group.wait(LINGER) {
            Some(status) => format!("{} ended unexpectedly ({})", self.name, exit_in_words(status)),
            None => format!("{} was stopped", self.name),
        });
        why + &self.said_last()
    }

    /// The end of its standard error, as a paragraph of its own. Of one that has ended it is waited for.
    pub(super) fn said_last(&self) -> String {
        let limit = if self.group.ended().is_some() { LINGER } else { Duration::ZERO };
        let tail = self.last_words.as_ref().map(|words| words.text(limit)).unwrap_or_default();
        let plain = anstream::adapter::strip_str(&tail).to_string();
        let plain: String = plain.chars().filter(|c| !c.is_control() || *c == '\n' || *c == '\t').collect();
        match plain.trim() {
            "" => String::new(),
            // Nothing in it ends the block: a fence of four is longer than any that it shows.
            said => format!("\n\nIt said last:\n\n````\n{}\n````", said.replace("````", "'```")),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

fn write(mut stdin: Pipe<ChildStdin>, frames: &mpsc::Receiver<Vec<u8>>, unread: &AtomicUsize) {
    for frame in frames {
        if stdin.write_all(&frame).and_then(|()| stdin.flush()).is_err() {
            // It reads no more; how it ends is seen by its output.
            break;
        }
        unread.fetch_sub(frame.len(), Ordering::SeqCst);
    }
}

fn read(stdout: Pipe<ChildStdout>, lines: &mpsc::SyncSender<Line>) {
    let mut input = BufReader::with_capacity(64 << 10, stdout);
    loop {
        let line = lines::next(&mut input, LINE);
        let is_last = !matches!(line, Line::Whole(_));
        if lines.send(line).is_err() || is_last {
            break;
        }
    }
}
