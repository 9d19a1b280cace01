//! A pipe whose other end may be held by somebody who does not end.

use super::Group;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, Read, Write},
    os::fd::AsFd,
    sync::Arc,
    time::Duration,
};

/// How often it is looked whether the program is still there.
const LOOK: Duration = Duration::from_millis(250);
/// Bytes that are written at once: a pipe that has room at all has so much.
const ATOMIC: usize = 512;

/// An end of a pipe to or from the processes of a group. It ends with the group, soon after it, even where a process that
/// left the group holds the other end.
#[derive(Debug)]
pub(crate) struct Pipe<T> {
    end: T,
    group: Arc<Group>,
}

impl<T: AsFd> Pipe<T> {
    pub(crate) fn new(end: T, group: Arc<Group>) -> Self {
        Self { end, group }
    }

    /// Returns whether there is something to do; otherwise the program has ended.
    fn wait(&self, what: PollFlags) -> io::Result<bool> {
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        loop {
            // What it said before it ended can still be read.
            let has_ended = self.group.ended().is_some();
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
        let piece = &bytes[..bytes.len().min(ATOMIC)];
        if self.wait(PollFlags::OUT)? { self.end.write(piece) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end.flush()
    }
}
