//! A pipe that ends with its program, even if another process holds the other end.

use super::group::Group;
use crate::limits::{EXIT_CHECK, PIPE_REST, PIPE_WRITE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::fd::AsFd,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread,
    time::Instant,
};

/// One end of a pipe to a process group. Ends soon after the group, even if another process holds the other end.
#[derive(Debug)]
pub(crate) struct Pipe<T> {
    end: T,
    group: Arc<Group>,
    /// When the program was noticed to have exited.
    ended: Option<Instant>,
}

impl<T: AsFd> Pipe<T> {
    pub(crate) fn new(end: T, group: Arc<Group>) -> Self {
        Self { end, group, ended: None }
    }

    /// Waits until the pipe is ready; returns false if the program has exited.
    fn wait(&mut self, what: PollFlags) -> io::Result<bool> {
        let look = Timespec { tv_sec: 0, tv_nsec: EXIT_CHECK.subsec_nanos().into() };
        loop {
            // Output written before the exit can still be read.
            let has_ended = self.group.ended().is_some();
            if has_ended && self.ended.get_or_insert_with(Instant::now).elapsed() > PIPE_REST {
                return Ok(false);
            }
            match poll(&mut [PollFd::new(&self.end, what)], Some(&look)) {
                Ok(0) if has_ended => return Ok(false),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl<T: AsFd + Read> Read for Pipe<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.wait(PollFlags::IN)? { self.end.read(buffer) } else { Ok(0) }
    }
}

impl<T: AsFd + Write> Write for Pipe<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIPE_WRITE)];
        if self.wait(PollFlags::OUT)? { self.end.write(piece) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end.flush()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, without the line break.
    Whole(Vec<u8>),
    /// Longer than the limit; nothing after it is read.
    TooLong,
    /// End of the stream; an unterminated last line is dropped.
    End,
}

/// Reads lines of at most `limit` bytes on a separate thread, up to `ahead` in advance. The
/// last item is never a whole line.
pub(crate) fn read_lines(
    output: impl Read + Send + 'static,
    limit: usize,
    ahead: usize,
) -> io::Result<Receiver<Line>> {
    let (sender, lines) = mpsc::sync_channel(ahead);
    let mut output = BufReader::with_capacity(64 << 10, output);
    let read = move || {
        loop {
            let line = next_line(&mut output, limit);
            let is_last = !matches!(line, Line::Whole(_));
            if sender.send(line).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("agent stdout".to_owned()).spawn(read)?;
    Ok(lines)
}

fn next_line(input: &mut impl BufRead, limit: usize) -> Line {
    let mut line = Vec::new();
    match input.take(limit as u64 + 1).read_until(b'\n', &mut line) {
        Ok(_) if line.pop_if(|last| *last == b'\n').is_some() => Line::Whole(line),
        Ok(read) if read > limit => Line::TooLong,
        _ => Line::End,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn pipe_ends_with_its_program() {
        let (output, input) = io::pipe().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo said"]).stdin(Stdio::null()).stdout(input.try_clone().unwrap());
        let (group, _) = Group::start(&mut command).unwrap();
        drop(command);
        let mut reply = String::new();
        Pipe::new(output, group.clone()).read_to_string(&mut reply).unwrap();
        assert_eq!(reply, "said\n");
        // The other direction: no reader, and the pipe is full.
        let (_output, held) = io::pipe().unwrap();
        assert!(Pipe::new(held, group).write_all(&[0; 1 << 20]).is_err());
        drop(input);
    }

    #[test]
    fn next_line_enforces_limit() {
        let mut input = std::io::BufReader::with_capacity(3, &b"ab\n\n12345678\n123456789\nab"[..]);
        let mut read = || next_line(&mut input, 8);
        assert_eq!(read(), Line::Whole(b"ab".to_vec()));
        assert_eq!(read(), Line::Whole(Vec::new()));
        assert_eq!(read(), Line::Whole(b"12345678".to_vec()));
        assert_eq!(read(), Line::TooLong);
        assert_eq!(next_line(&mut &b"cut off"[..], 80), Line::End);
    }
}
