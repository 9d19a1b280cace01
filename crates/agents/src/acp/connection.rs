//! A running agent and the frames sent in both directions.

use super::{
    config::AcpCommand,
    frame::{self, Incoming, RpcError, SPREAD_MESSAGE, Spread},
};
use crate::limits::{ACP_BAD_LINES, ACP_ERRORS, ACP_LINES_AHEAD, ACP_LINGER, ACP_UNREAD, LINE};
use crate::process::{Collected, Group, Groups, Line, Pipe, exit_in_words, filtered, read_lines};
use openagents_core::text::fenced;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{self, Write as _},
    path::Path,
    process::{ChildStdin, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

pub(super) type Reply = Result<Value, RpcError>;

#[derive(Debug)]
pub(super) struct Connection {
    name: String,
    pub(super) group: Arc<Group>,
    groups: Arc<Groups>,
    outgoing: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    unread: Arc<AtomicUsize>,
    waiting: Mutex<HashMap<u64, mpsc::Sender<Reply>>>,
    last_id: AtomicU64,
    last_words: Arc<Collected>,
    /// The reason we stopped the agent; `None` if it exited by itself.
    stop_reason: Mutex<Option<String>>,
    /// Lines that are not messages, and responses without a request.
    passed_over: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Lines {
    lines: mpsc::Receiver<Line>,
    bad_in_a_row: u64,
    spread: Spread,
}

#[derive(Debug)]
pub(super) enum Next {
    Frame(Incoming),
    Nothing,
    End,
}

impl Connection {
    pub(super) fn start(
        name: &str,
        command: &AcpCommand,
        folder: &Path,
        groups: &Arc<Groups>,
    ) -> io::Result<(Arc<Self>, Lines)> {
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
        let unread = Arc::new(AtomicUsize::new(0));
        let connect = || {
            let (Some(stdin), Some(stdout), Some(stderr)) = (streams.stdin, streams.stdout, streams.stderr)
            else {
                return Err(io::Error::other("it has no streams"));
            };
            let (stdin, unread) = (Pipe::new(stdin, group.clone()), unread.clone());
            let work = move || write_frames(stdin, &frames, &unread);
            std::thread::Builder::new().name("agent stdin".to_owned()).spawn(work)?;
            let lines = read_lines(Pipe::new(stdout, group.clone()), LINE, ACP_LINES_AHEAD)?;
            Ok((lines, Collected::last(Pipe::new(stderr, group.clone()), ACP_ERRORS)?))
        };
        let (lines, last_words) = connect().inspect_err(|_| group.kill())?;
        let connection = Self {
            name: name.to_owned(),
            group,
            groups: groups.clone(),
            outgoing: Mutex::new(Some(outgoing)),
            unread,
            waiting: Mutex::default(),
            last_id: AtomicU64::new(0),
            last_words,
            stop_reason: Mutex::default(),
            passed_over: AtomicU64::new(0),
        };
        Ok((Arc::new(connection), Lines { lines, bad_in_a_row: 0, spread: Spread::default() }))
    }

    /// Sends a request without waiting; returns its id.
    pub(super) fn request(&self, method: &str, params: &Value) -> u64 {
        let id = self.last_id.fetch_add(1, Ordering::SeqCst);
        self.send(&frame::request(id, method, params));
        id
    }

    /// Sends a request. If the agent exits, the channel closes without a reply.
    pub(super) fn call(&self, method: &str, params: &Value) -> (u64, mpsc::Receiver<Reply>) {
        let id = self.last_id.fetch_add(1, Ordering::SeqCst);
        let (sender, reply) = mpsc::channel();
        self.waiting.lock().insert(id, sender);
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
        if unread > ACP_UNREAD {
            return self.stop(format!("{} stopped reading its input and was ended", self.name));
        }
        if let Some(outgoing) = self.outgoing.lock().as_ref() {
            // Fails if the agent has exited, which is reported elsewhere.
            let _ = outgoing.send(line);
        }
    }

    pub(super) fn resolve(&self, id: &Value, result: Reply) {
        let waiting = frame::number(id).and_then(|id| self.waiting.lock().remove(&id));
        match waiting {
            // The caller may have given up.
            Some(waiting) => drop(waiting.send(result)),
            None => self.pass_over("an unexpected response"),
        }
    }

    fn pass_over(&self, what: &str) {
        let count = self.passed_over.fetch_add(1, Ordering::SeqCst) + 1;
        tracing::debug!(agent = self.name, count, "passed over {what}");
    }

    pub(super) fn next(&self, lines: &mut Lines, limit: Duration) -> Next {
        match lines.lines.recv_timeout(limit) {
            Ok(Line::Whole(line)) => match frame::parse(&line) {
                Some(frame) => {
                    lines.bad_in_a_row = 0;
                    Next::Frame(frame)
                }
                None => {
                    lines.bad_in_a_row += 1;
                    if lines.spread.completes(&line) {
                        self.stop(format!("{} {SPREAD_MESSAGE}", self.name));
                        return Next::End;
                    }
                    if !line.iter().all(u8::is_ascii_whitespace) {
                        self.pass_over("a line that is not a message");
                    }
                    if lines.bad_in_a_row < ACP_BAD_LINES {
                        return Next::Nothing;
                    }
                    let name = &self.name;
                    self.stop(format!(
                        "{name} does not speak ACP ({ACP_BAD_LINES} invalid lines in a row) and was stopped"
                    ));
                    Next::End
                }
            },
            Ok(Line::TooLong) => {
                let (name, megabytes) = (&self.name, LINE >> 20);
                self.stop(format!("{name} sent a line of more than {megabytes} MiB and was stopped"));
                Next::End
            }
            Ok(Line::End) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                if self.group.wait(ACP_LINGER).is_none() {
                    self.stop(format!("{} closed its output while it ran and was stopped", self.name));
                }
                Next::End
            }
            Err(mpsc::RecvTimeoutError::Timeout) => match self.group.ended() {
                // Another process holds its output open.
                Some(_) => match lines.lines.recv_timeout(ACP_LINGER) {
                    Ok(Line::Whole(line)) => frame::parse(&line).map_or(Next::Nothing, Next::Frame),
                    _ => Next::End,
                },
                None => Next::Nothing,
            },
        }
    }

    /// Stops the agent for a reason that is reported. Does not block.
    pub(super) fn stop(&self, why: String) {
        self.stop_reason.lock().get_or_insert(why);
        self.close();
    }

    /// Stops the agent, but not processes that it started in a separate process session. Does not block.
    pub(super) fn retire(&self, why: String) {
        self.stop_reason.lock().get_or_insert(why);
        self.close_after(|| self.groups.let_go(&self.group));
    }

    pub(super) fn close(&self) {
        self.close_after(|| self.group.record_descendants());
    }

    /// `before` runs first because the agent's children can't be found after it has exited.
    fn close_after(&self, before: impl FnOnce()) {
        if self.outgoing.lock().is_none() {
            return;
        }
        before();
        // Close its input first, so that it can exit by itself.
        self.outgoing.lock().take();
        self.waiting.lock().clear();
        self.group.stop_after_a_pause();
    }

    pub(super) fn is_gone(&self) -> bool {
        self.outgoing.lock().is_none() || self.group.ended().is_some()
    }

    /// Returns why the agent ended, followed by the end of its standard error.
    pub(super) fn exit_reason(&self) -> String {
        let why = self.stop_reason.lock().clone().unwrap_or_else(|| match self.group.wait(ACP_LINGER) {
            Some(status) => format!("{} ended unexpectedly ({})", self.name, exit_in_words(status)),
            None => format!("{} was stopped", self.name),
        });
        why + &self.last_words_paragraph()
    }

    /// Returns the end of the agent's standard error as a separate paragraph. Waits for
    /// the rest if the agent has exited.
    pub(super) fn last_words_paragraph(&self) -> String {
        let limit = if self.group.ended().is_some() { ACP_LINGER } else { Duration::ZERO };
        let plain = anstream::adapter::strip_str(&self.last_words.text(limit)).to_string();
        let plain: String = plain.chars().filter(|c| !c.is_control() || *c == '\n' || *c == '\t').collect();
        match plain.trim() {
            "" => String::new(),
            spoken_text => format!("\n\nIt said last:\n\n{}", fenced(spoken_text)),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

fn write_frames(mut stdin: Pipe<ChildStdin>, frames: &mpsc::Receiver<Vec<u8>>, unread: &AtomicUsize) {
    for frame in frames {
        if stdin.write_all(&frame).and_then(|()| stdin.flush()).is_err() {
            // Reading the agent's output notices the exit.
            break;
        }
        unread.fetch_sub(frame.len(), Ordering::SeqCst);
    }
}
