//! Shared test helpers.

use openagents_core::model::{SettingsError, SettingsStore};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

#[derive(Debug, Default)]
pub(crate) struct Settings(Mutex<BTreeMap<String, Value>>);

impl Settings {
    pub(crate) fn with(key: &str, value: Value) -> Self {
        Self(Mutex::new([(key.to_owned(), value)].into()))
    }
}

impl SettingsStore for Settings {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    fn set(&self, key: &str, value: Value) -> Result<(), SettingsError> {
        self.0.lock().unwrap().insert(key.to_owned(), value);
        Ok(())
    }
}

/// Writes a shell script and returns its path.
///
/// A separate process writes it: a program that another test starts meanwhile briefly inherits our open files, and a
/// file that is open for writing can't be executed.
pub(crate) fn program(folder: &Path, name: &str, script: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = Command::new("/bin/sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let text = if script.starts_with("#!") { script.to_owned() } else { format!("#!/bin/sh\n{script}\n") };
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    path
}
