//! A log being written.

use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    time::{Duration, SystemTime},
};

pub(crate) struct Log {
    file: BufWriter<File>,
    changed: SystemTime,
    pub(crate) written: u64,
}

impl Log {
    /// Creates a log that was last changed `at`, in milliseconds since the epoch.
    pub(crate) fn create(path: &Path, at: i64) -> Result<Self> {
        let shown = || path.display().to_string();
        fs::create_dir_all(path.parent().with_context(shown)?)?;
        let file = BufWriter::with_capacity(1 << 20, File::create(path).with_context(shown)?);
        let changed = SystemTime::UNIX_EPOCH + Duration::from_millis(at.unsigned_abs());
        Ok(Self { file, changed, written: 0 })
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.written += text.len() as u64 + 1;
        self.file.write_all(text.as_bytes())?;
        Ok(self.file.write_all(b"\n")?)
    }

    pub(crate) fn close(self) -> Result<()> {
        Ok(self.file.into_inner()?.set_modified(self.changed)?)
    }
}
