//! The bench's processes and their resource usage.

use anyhow::{Context as _, Result};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{ChildStdout, Command, Stdio},
};

/// Clock ticks per second, the same on every Linux.
const TICKS: f64 = 100.0;

/// A process that ends with the bench and communicates in lines.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    lines: BufReader<ChildStdout>,
}

impl Child {
    /// Starts a program and returns it with its first line.
    pub(crate) fn start(command: &mut Command) -> Result<(Self, String)> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{command:?}"))?;
        let lines = BufReader::new(process.stdout.take().context("stdout")?);
        let mut child = Self { process, lines };
        let first = child.line()?;
        Ok((child, first))
    }

    /// Starts this program in another role.
    pub(crate) fn part(arguments: &[&str]) -> Result<(Self, String)> {
        Self::start(Command::new(std::env::current_exe()?).args(arguments))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn say(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.process.stdin.as_mut().context("stdin")?, "{line}")?)
    }

    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        anyhow::ensure!(!line.is_empty(), "a process of the bench ended early");
        Ok(line.trim().to_owned())
    }

    /// Returns the process's last line.
    pub(crate) fn output(mut self) -> Result<String> {
        self.line()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// CPU seconds.
    pub(crate) cpu: f64,
    /// Resident megabytes.
    pub(crate) resident: f64,
    /// Peak megabytes.
    pub(crate) peak: f64,
}

impl Usage {
    pub(crate) fn for_pid(pid: u32) -> Result<Self> {
        Self::parse_status(&pid.to_string())
    }

    pub(crate) fn own() -> Result<Self> {
        Self::parse_status("self")
    }

    fn parse_status(process: &str) -> Result<Self> {
        let file = |name: &str| {
            std::fs::read_to_string(format!("/proc/{process}/{name}")).context("this needs Linux's /proc")
        };
        let (stat, status) = (file("stat")?, file("status")?);
        // After the name, which may contain anything: the state, and eleven more fields before the two CPU times.
        let fields: Vec<&str> = stat.rsplit_once(')').context("stat")?.1.split_whitespace().collect();
        let ticks =
            |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).context("ticks");
        let megabytes = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
            Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1000.0)
        };
        Ok(Self {
            cpu: (ticks(11)? + ticks(12)?) / TICKS,
            resident: megabytes("VmRSS:")?,
            peak: megabytes("VmHWM:")?,
        })
    }
}
