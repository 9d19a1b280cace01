//! A pipe whose other end may be held by somebody who does not end.

use super::Group;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, Read, Write},
    os::fd::AsFd,
    sync::Arc,
    time::{Duration, Instant},
};

/// How often it is looked whether the program is still there.
const LOOK: Duration = Duration::from_millis(250);
/// What a program said before it ended is read for so long: somebody else may go on writing.
const REST: Duration = Duration::from_secs(30);
/// Bytes that are written at once: a pipe that has room at all has so much.
const ATOMIC: usize = 512;

/// An end of a pipe to or from the processes of a group. It ends with the group, soon after it, even where a process that
/// left the group holds the other end.
#[derive(Debug)]
pub(crate) struct Pipe<T> {
    end: T,
    group: Arc<Group>,
    /// When it was seen that the program had ended.
    ended: Option<Instant>,
}

impl<T: AsFd> Pipe<T> {
    pub(crate) fn new(end: T, group: Arc<Group>) -> Self {
        Self { end, group, ended: None }
    }

    /// Returns whether there is something to do; otherwise the program has ended.
    fn wait(&mut self, what: PollFlags) -> io::Result<bool> {
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        loop {
            // What it said before it ended can still be read.
            let has_ended = self.group.ended().is_some();
            if has_ended && self.ended.get_or_insert_with(Instant::now).elapsed() > REST {
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
        let piece = &bytes[..bytes.len().min(ATOMIC)];
        if self.wait(PollFlags::OUT)? { self.end.write(piece) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_pipe_that_somebody_else_holds_ends_with_the_program() {
        let (output, input) = io::pipe().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo said"]).stdin(Stdio::null()).stdout(input.try_clone().unwrap());
        let (group, _) = Group::start(&mut command).unwrap();
        drop(command);
        let mut said = String::new();
        Pipe::new(output, group.clone()).read_to_string(&mut said).unwrap();
        assert_eq!(said, "said\n");
        // The other way round: nobody reads, and the pipe is full.
        let (_output, held) = io::pipe().unwrap();
        assert!(Pipe::new(held, group).write_all(&[0; 1 << 20]).is_err());
        drop(input);
    }
}
