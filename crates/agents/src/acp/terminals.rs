//! `terminal/*`: commands that run here for an agent. Not a sandbox: a command runs if the user approves it.

use super::{frame::RpcError, frozen::Frozen};
use crate::limits::{FAMILY_CHECK, OPEN_TERMINALS, TERMINAL_REST};
use crate::process::{Group, Groups, Pipe, Tail, filtered, signal_name};
use openagents_core::approval::FrozenCommand;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Read as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
};

#[derive(Debug, Default)]
pub(super) struct Terminals {
    groups: Arc<Groups>,
    running: Mutex<HashMap<String, Arc<Terminal>>>,
}

#[derive(Debug)]
pub(super) struct Terminal {
    group: Arc<Group>,
    output: Mutex<Tail>,
    ended: Mutex<Option<ExitStatus>>,
    changed: Condvar,
}

impl Terminals {
    pub(super) fn new(groups: Arc<Groups>) -> Self {
        Self { groups, running: Mutex::default() }
    }

    /// Runs the approved command. `on_output` and `on_end` are called from other threads.
    pub(super) fn run(
        &self,
        id: &str,
        frozen: &Frozen,
        root: &Path,
        environment: &BTreeMap<String, String>,
        on_output: impl Fn(&[u8]) + Send + 'static,
        on_end: impl FnOnce(ExitStatus) + Send + 'static,
    ) -> Result<(), RpcError> {
        let failed = |error: io::Error| RpcError::refused(format!("{}: {error}", frozen.shown));
        let FrozenCommand { program, args, cwd, environment: added, .. } = &frozen.command;
        if self.running.lock().len() >= OPEN_TERMINALS {
            return Err(RpcError::refused(format!("{OPEN_TERMINALS} terminals are open; release one")));
        }
        if !frozen.is_unchanged(root) {
            return Err(RpcError::refused(format!("{} changed before it was approved", frozen.shown)));
        }
        let (output, input) = io::pipe().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .arg0(&frozen.called)
            .args(args)
            .current_dir(cwd)
            .env_clear()
            .envs(filtered(environment))
            .envs(added.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stderr(input.try_clone().map_err(failed)?)
            .stdout(input);
        let (group, _) = self.groups.start(&mut command).map_err(failed)?;
        let mut output = Pipe::new(output, group.clone());
        // Closes our copy of the other end of the pipe.
        drop(command);
        let terminal = Arc::new(Terminal {
            group,
            output: Mutex::new(Tail::new(frozen.limit)),
            ended: Mutex::default(),
            changed: Condvar::new(),
        });
        self.running.lock().insert(id.to_owned(), terminal.clone());
        let (sender, drained) = std::sync::mpsc::channel::<()>();
        let reading = terminal.clone();
        let spawn = |work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name("terminal".to_owned()).spawn(work).map_err(failed)
        };
        let started = spawn(Box::new(move || {
            let mut buffer = [0; 16 << 10];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                reading.output.lock().push(&buffer[..count]);
                on_output(&buffer[..count]);
            }
            drop(sender);
        }));
        let waiting = terminal.clone();
        let started = started.and(spawn(Box::new(move || {
            let status = loop {
                if let Some(status) = waiting.group.wait(FAMILY_CHECK) {
                    break status;
                }
                waiting.group.record_descendants();
            };
            // Returns at the end of the output or after the timeout.
            let _ = drained.recv_timeout(TERMINAL_REST);
            // Shown before the agent gets the status, since its next updates depend on it.
            on_end(status);
            *waiting.ended.lock() = Some(status);
            waiting.changed.notify_all();
        })));
        if started.is_err() {
            terminal.group.kill();
        }
        started.map(drop)
    }

    pub(super) fn get(&self, params: &Value) -> Result<Arc<Terminal>, RpcError> {
        let id = params["terminalId"].as_str().unwrap_or_default();
        let unknown = || RpcError::invalid_params(format!("no such terminal: {id}"));
        self.running.lock().get(id).cloned().ok_or_else(unknown)
    }

    pub(super) fn release(&self, params: &Value) -> Result<Value, RpcError> {
        self.get(params)?.group.stop_soon();
        self.running.lock().remove(params["terminalId"].as_str().unwrap_or_default());
        Ok(json!({}))
    }

    pub(super) fn stop_all(&self) {
        for terminal in self.running.lock().values() {
            terminal.group.stop_soon();
        }
    }

    pub(super) fn release_all(&self) {
        self.stop_all();
        self.running.lock().clear();
    }
}

impl Terminal {
    pub(super) fn output(&self) -> Value {
        let output = self.output.lock();
        let status = self.ended.lock().map(exit_status);
        json!({"output": output.text(), "truncated": output.is_truncated(), "exitStatus": status})
    }

    /// `terminal/kill`: the terminal stays open.
    pub(super) fn kill(&self) -> Value {
        self.group.stop_soon();
        json!({})
    }

    pub(super) fn wait(&self) -> Value {
        let mut ended = self.ended.lock();
        self.changed.wait_while(&mut ended, |ended| ended.is_none());
        ended.map_or(Value::Null, exit_status)
    }
}

fn exit_status(status: ExitStatus) -> Value {
    json!({"exitCode": status.code(), "signal": status.signal().map(signal_name)})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::frozen::freeze;
    use agent_client_protocol_schema::v1::CreateTerminalRequest;
    use openagents_core::workspace::Workspace;

    fn request(value: Value) -> CreateTerminalRequest {
        let mut whole = json!({"sessionId": "s"});
        whole.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn run_rejects_swapped_program() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::copy("/bin/sh", root.join("tool")).unwrap();
        let workspace = Workspace::open_for(&root, None).unwrap();
        let environment = BTreeMap::new();
        let frozen = freeze(&request(json!({"command": "./tool"})), &workspace, &environment).unwrap();
        std::fs::remove_file(root.join("tool")).unwrap();
        std::os::unix::fs::symlink("/bin/true", root.join("tool")).unwrap();
        let run = Terminals::default().run("t", &frozen, workspace.root(), &environment, |_| (), |_| ());
        assert_eq!(run.unwrap_err().message, "./tool changed before it was approved");
    }

    #[test]
    fn terminal_reports_output_and_exit_status() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open_for(folder.path(), None).unwrap();
        let environment = BTreeMap::from([
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("OPENAGENTS_TOKEN".to_owned(), "secret".to_owned()),
        ]);
        let line = "printf 'äöü%s' \"$OPENAGENTS_TOKEN\"; echo err >&2; exit 7";
        let wanted = request(json!({"command": line, "outputByteLimit": 8}));
        let frozen = freeze(&wanted, &workspace, &environment).unwrap();
        let terminals = Terminals::default();
        terminals.run("t", &frozen, workspace.root(), &environment, |_| (), |_| ()).unwrap();
        let terminal = terminals.get(&json!({"terminalId": "t"})).unwrap();
        assert_eq!(terminal.wait(), json!({"exitCode": 7, "signal": null}));
        let exit = json!({"exitCode": 7, "signal": null});
        assert_eq!(terminal.output(), json!({"output": "öüerr\n", "truncated": true, "exitStatus": exit}));
        terminals.release(&json!({"terminalId": "t"})).unwrap();
        assert!(terminals.get(&json!({"terminalId": "t"})).is_err());
    }
}
