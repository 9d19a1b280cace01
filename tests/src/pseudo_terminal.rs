//! A program in its own pseudo-terminal, as the user would see it.

use anyhow::{Context as _, Result, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::{
    ffi::OsStr,
    fs::File,
    io::{Read as _, Write as _},
    os::unix::ffi::OsStrExt as _,
    process::{Child, Command, ExitStatus},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

/// Limit of every wait; longer means a hang.
const HANGS: Duration = Duration::from_secs(120);

/// A program in a terminal. Stopped with its test.
#[derive(Debug)]
pub struct PseudoTerminal {
    child: Child,
    keyboard: File,
    shown: Receiver<Vec<u8>>,
    /// Everything that was shown, including control sequences.
    pub screen: String,
}

impl PseudoTerminal {
    /// Starts a program with the terminal as its standard input, output and error.
    pub fn start(mut command: Command) -> Result<Self> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let theirs = File::options().read(true).write(true).open(OsStr::from_bytes(name.to_bytes()))?;
        command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        let child = command.spawn().with_context(|| format!("{command:?}"))?;
        // Dropping the command closes our copies of the other side, so its end is the end of the program.
        drop(command);
        let keyboard = File::from(ours);
        let mut output = keyboard.try_clone()?;
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, keyboard, shown, screen: String::new() })
    }

    /// Waits until the screen has shown `text` after position `from`; returns where the text ends.
    pub fn until(&mut self, text: &str, from: usize) -> Result<usize> {
        let end = Instant::now() + HANGS;
        loop {
            if let Some(at) = self.screen.get(from..).and_then(|rest| rest.find(text)) {
                return Ok(from + at + text.len());
            }
            ensure!(self.read_output(end)?, "it ended without {text:?}: {}", self.screen);
        }
    }

    fn read_output(&mut self, end: Instant) -> Result<bool> {
        match self.shown.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(bytes) => {
                self.screen.push_str(&String::from_utf8_lossy(&bytes));
                Ok(true)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(false),
            Err(RecvTimeoutError::Timeout) => anyhow::bail!("nothing more came: {}", self.screen),
        }
    }

    pub fn type_line(&mut self, line: &str) -> Result<()> {
        Ok(self.keyboard.write_all(format!("{line}\n").as_bytes())?)
    }

    /// Sends the signal of Ctrl-C.
    pub fn interrupt(&self) -> Result<()> {
        let id = self.child.id().to_string();
        ensure!(Command::new("kill").args(["-INT", &id]).status()?.success(), "cannot signal it");
        Ok(())
    }

    /// Waits for the program to end.
    pub fn end(&mut self) -> Result<ExitStatus> {
        let end = Instant::now() + HANGS;
        while self.read_output(end)? {}
        Ok(self.child.wait()?)
    }
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
