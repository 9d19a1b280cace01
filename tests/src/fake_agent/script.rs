//! Runs the words of a prompt.

use crate::peer::{Peer, Turn};
use serde_json::{Value, json};
use std::{
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

const MESSAGE: &str = "agent_message_chunk";

/// The text that an edit writes.
const TEXT: &str = "made by fake-agent\n";

enum End {
    Stop(String),
    Fail(String),
    /// An error code and its message.
    Refuse(i64, String),
    /// No response at all.
    Never,
}

struct Run<'a> {
    peer: &'a Arc<Peer>,
    turn: &'a Turn,
    /// The id of the prompt's request.
    id: &'a Value,
    said: bool,
    answer_twice: bool,
}

pub(crate) fn run(peer: &Arc<Peer>, turn: &Turn, id: &Value, text: &str) {
    let mut run = Run { peer, turn, id, said: false, answer_twice: false };
    let mut end = None;
    let words = words(text);
    if words.is_empty() {
        run.say(&format!("You said: {text}"));
    }
    for (word, rest) in words {
        end = run.word(word, rest);
        if end.is_none() && Peer::wait(turn, Duration::ZERO) {
            end = Some(End::Stop("cancelled".to_owned()));
        }
        if end.is_some() {
            break;
        }
    }
    match end {
        None => {
            if !run.said {
                run.say("Done.");
            }
            peer.respond(id, json!({"stopReason": "end_turn"}));
        }
        Some(End::Stop(reason)) => peer.respond(id, json!({"stopReason": reason})),
        Some(End::Fail(message)) => peer.fail(id, -32603, &message),
        Some(End::Refuse(code, message)) => peer.fail(id, code, &message),
        Some(End::Never) => {}
    }
    if run.answer_twice {
        peer.respond(id, json!({"stopReason": "end_turn"}));
    }
}

/// Finds each `[[WORD REST]]`.
fn words(text: &str) -> Vec<(&str, &str)> {
    let pieces = text.split("[[").skip(1).filter_map(|piece| piece.split_once("]]"));
    pieces.map(|(piece, _)| piece.split_once(' ').unwrap_or((piece, ""))).collect()
}

fn fresh_call_id() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("call-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::SeqCst))
}

impl Run<'_> {
    fn word(&mut self, word: &str, rest: &str) -> Option<End> {
        match word {
            "say" => self.say(rest),
            "think" => self.stream("agent_thought_chunk", rest),
            "words" => return self.count(rest.parse().unwrap_or(10)),
            "plan" => self.plan(),
            "edit" => return self.edit(rest, TEXT, false),
            "edit-or-end" => return self.edit(rest, TEXT, true),
            "edit-long" => return self.edit(rest, &TEXT.repeat(20_000), false),
            "options" => {
                let answer = self.options(rest);
                self.say(&format!("The answer is {answer}."));
            }
            "form" => {
                let schema = json!({"type": "object", "required": ["db"], "properties": {
                    "db": {"type": "string", "title": "Database", "enum": ["SQLite", "Postgres"]},
                    "note": {"type": "string", "title": "Note"},
                }});
                let params = json!({"mode": "form", "message": "Which database?", "requestedSchema": schema});
                let answer = self.peer.ask("elicitation/create", params);
                self.say(&answer["result"].to_string());
            }
            "open" => {
                let params =
                    json!({"mode": "url", "elicitationId": "1", "message": "Log in there", "url": rest});
                let answer = self.peer.ask("elicitation/create", params);
                self.say(&answer["result"].to_string());
            }
            "silence" => self.said = true,
            "update" => self.peer.update(serde_json::from_str(rest).unwrap_or_default()),
            "mode" => {
                self.peer.set_mode(rest);
                self.peer.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": rest}));
            }
            "capability" => {
                let offered = self.peer.session().capabilities["fs"][rest].clone();
                self.say(&offered.to_string());
            }
            "servers" => self.say(&format!("{} {}", std::process::id(), self.peer.session().servers)),
            "until-mode" => {
                while self.peer.session().mode != rest && !self.turn.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            "which-mode" => self.say(&format!("mode {}", self.peer.session().mode)),
            "log" => self.peer.write_raw(format!("{{\"level\":\"info\",\"id\":{}}}\n", self.id).as_bytes()),
            "refuse-login" => return Some(End::Refuse(-32000, rest.to_owned())),
            "ask" => {
                let answer = self.permission(&fresh_call_id(), rest, json!({"title": rest}));
                self.say(&answer);
            }
            "read" => {
                let answer = self.peer.ask("fs/read_text_file", json!({"path": self.path(rest)}));
                self.say_answer(&answer, |result| result["content"].as_str().unwrap_or_default().to_owned());
            }
            "write" => {
                let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                let params = json!({"path": self.path(path), "content": text});
                let answer = self.peer.ask("fs/write_text_file", params);
                self.say_answer(&answer, |_| "Written.".to_owned());
            }
            "run" => self.terminal(rest),
            "run-and-write" => {
                let (path, line) = rest.split_once(' ').unwrap_or((rest, ""));
                let created = self.peer.begin_asking(
                    "terminal/create",
                    json!({"command": line, "cwd": self.peer.session().cwd}),
                );
                // Repeated, so that at least one change happens while the approval is pending.
                let mut changes = 0;
                let created = loop {
                    changes += 1;
                    let content = format!("echo evil {changes}\n");
                    self.peer.ask("fs/write_text_file", json!({"path": self.path(path), "content": content}));
                    match created.recv_timeout(Duration::from_millis(20)) {
                        Err(mpsc::RecvTimeoutError::Timeout) => {}
                        answer => break answer.unwrap_or_default(),
                    }
                };
                self.run(line, &created);
            }
            "call" => {
                let id = fresh_call_id();
                self.begin_call(&id, rest, "other");
                self.end_call(&id, "completed");
            }
            "open-call" => self.begin_call(&fresh_call_id(), "Never ends", "other"),
            "no-tool-call" => {
                let id = fresh_call_id();
                self.news(
                    &id,
                    json!({"title": "Never announced", "kind": "search", "status": "in_progress"}),
                );
                self.end_call(&id, "completed");
            }
            "reuse-ids" => {
                self.begin_call("1", "Number one", "read");
                self.end_call("1", "completed");
            }
            "after-end" => {
                let id = fresh_call_id();
                self.begin_call(&id, "Ends early", "other");
                self.end_call(&id, "completed");
                self.news(&id, json!({"status": "in_progress"}));
                self.news(&id, json!({"title": "Still talking"}));
            }
            "late" => return Some(self.late()),
            "silent" => {
                Peer::wait(self.turn, Duration::MAX);
            }
            "hang-after-cancel" => return Some(End::Never),
            "crash" => {
                self.begin_call(&fresh_call_id(), "About to crash", "execute");
                eprintln!("\u{1b}[31mfake-agent: the script says crash\u{1b}[0m");
                std::process::exit(3);
            }
            "bad-frame" => {
                for line in ["{\"jsonrpc\":", "null", "[1,2]", "\"text\"", "{}", "", "{\"method\":7}"] {
                    self.peer.write_raw(format!("{line}\n").as_bytes());
                }
                self.peer.write_frame(json!({"method": "session/update", "params": {"update": 7}}));
                let strange = json!({"sessionUpdate": "from_the_future", "x": 1});
                self.peer.update(strange);
            }
            "junk" => self.peer.write_raw(b"\x00\xff\xfe\x80 not text \xc3\x28\n"),
            "junk-forever" => loop {
                self.peer.write_raw(b"\xff\xfe junk\n");
            },
            "long-line" => self.long_line(rest.parse().unwrap_or(1)),
            "flood" => {
                for number in 0..rest.parse().unwrap_or(1000_u64) {
                    self.peer.say(MESSAGE, &format!("{number} "));
                }
                self.said = true;
            }
            "unknown-response" => {
                self.peer.respond(&json!(987_654), json!({"stopReason": "end_turn"}));
                self.peer.respond(&json!("nobody"), Value::Null);
                self.peer.fail(&Value::Null, -32700, "Parse error");
            }
            "duplicate-response" => self.answer_twice = true,
            "unknown-request" => {
                let answer = self.peer.ask("session/make_coffee", json!({}));
                self.say(&format!("code {}", answer["error"]["code"]));
            }
            "raw" => self.peer.write_raw(&std::fs::read(rest).unwrap_or_default()),
            "close-stdout" => close_stdout(),
            "stop" => return Some(End::Stop(rest.to_owned())),
            "fail" => return Some(End::Fail(rest.to_owned())),
            "env" => self.say(&std::env::var(rest).unwrap_or_else(|_| "not set".to_owned())),
            "images" => self.say(&self.peer.session().images.join(", ")),
            "until-steered" => {
                while self.peer.session().steered.is_empty()
                    && !Peer::wait(self.turn, Duration::from_millis(2))
                {}
                self.say(&format!("Steered: {}", self.peer.session().steered.join(" | ")));
            }
            "subagent" => self.subagent(rest),
            "in" => {
                let (session, update) = rest.split_once(' ').unwrap_or((rest, "null"));
                self.peer.update_in(session, serde_json::from_str(update).unwrap_or_default());
            }
            "links" => self.say(&self.peer.session().links.join(" ")),
            "session" => {
                let session = self.peer.session();
                self.say(&format!("{} prompt {}", session.id, session.prompts));
            }
            "cwd" => {
                let here = std::env::current_dir().unwrap_or_default();
                self.say(&format!("{} {}", here.display(), self.peer.session().cwd));
            }
            "leave-process" => {
                let child =
                    Command::new("sleep").arg("300").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
                self.say(&child.map_or_else(|error| error.to_string(), |child| child.id().to_string()));
            }
            "leave-detached" => {
                // The process holds our output open, as a shell's background job does.
                let mut command = Command::new("sleep");
                command.arg("300").stdin(Stdio::null());
                std::os::unix::process::CommandExt::process_group(&mut command, 0);
                let child = command.spawn();
                self.say(&child.map_or_else(|error| error.to_string(), |child| child.id().to_string()));
            }
            "ask-and-take-back" => {
                let answer = self.peer.ask_and_take_back("session/request_permission", question(rest));
                self.say(answer["result"]["outcome"]["outcome"].as_str().unwrap_or("no answer"));
            }
            "ask-thrice" => {
                // With one id. Only the first request gets an answer, so we wait for that one.
                let answer = self.peer.ask_thrice("session/request_permission", question(rest));
                self.say(answer["error"]["message"].as_str().unwrap_or("no error"));
            }
            "wait" => {
                Peer::wait(self.turn, Duration::from_millis(rest.parse().unwrap_or(100)));
            }
            _ => self.say(&format!("I do not know the word {word}.")),
        }
        None
    }

    fn say(&mut self, text: &str) {
        self.said = true;
        self.stream(MESSAGE, text);
    }

    fn stream(&self, kind: &str, text: &str) {
        for piece in text.split_inclusive(' ') {
            self.peer.say(kind, piece);
        }
    }

    fn say_answer(&mut self, answer: &Value, show: impl Fn(&Value) -> String) {
        let error = answer["error"]["message"].as_str();
        let text = error.map_or_else(|| show(&answer["result"]), |error| format!("Refused: {error}"));
        self.say(&text);
    }

    fn count(&mut self, number: u64) -> Option<End> {
        self.said = true;
        for number in 0..number {
            self.peer.say(MESSAGE, &format!("w{number} "));
            if Peer::wait(self.turn, Duration::from_millis(10)) {
                return Some(End::Stop("cancelled".to_owned()));
            }
        }
        None
    }

    /// Starts a sub-agent that asks whether it may write a file. Without a name it works until it is stopped.
    fn subagent(&mut self, file: &str) {
        let (peer, session, id) = (self.peer, self.peer.session().id, fresh_call_id());
        let child = format!("sub-{id}");
        let state = |state: Value| {
            peer.update(json!({"sessionUpdate": "subagent_update", "sessionId": child, "state": state}));
        };
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        peer.update(json!({"sessionUpdate": "subagent_update", "sessionId": child, "title": "Look around",
            "description": "explorer", "capabilities": {"cancel": {}}, "state": {"state": "running"}}));
        let message = json!({"sessionUpdate": "session_message", "messageId": id, "senderSessionId": session,
            "recipientSessionId": child, "content": text("Look around and report.")});
        peer.update(message.clone());
        peer.update_in(&child, message);
        let say = |said: &str| {
            let content = json!({"type": "text", "text": said});
            peer.update_in(&child, json!({"sessionUpdate": MESSAGE, "content": content, "messageId": "m1"}));
        };
        say("Looking around.");
        if file.is_empty() {
            let is_stopped = || peer.session().stopped.contains(&child);
            while !is_stopped() && !Peer::wait(self.turn, Duration::from_millis(2)) {}
            return state(json!({"state": "idle", "stopReason": "cancelled"}));
        }
        let (call, path) = (format!("{id}-write"), self.path(file));
        let diff = json!([{"type": "diff", "path": path, "oldText": null, "newText": TEXT}]);
        peer.update_in(
            &child,
            json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": format!("Write {file}"),
            "kind": "edit", "status": "pending", "content": diff, "locations": [{"path": path}]}),
        );
        state(json!({"state": "requires_action"}));
        let options = json!([
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]);
        let question = json!({"sessionId": child, "toolCall": {"toolCallId": call}, "options": options});
        let answer = peer.ask("session/request_permission", question);
        let is_allowed = answer["result"]["outcome"]["optionId"] == "yes";
        let written = is_allowed && std::fs::write(&path, TEXT).is_ok();
        let status = if written { "completed" } else { "failed" };
        peer.update_in(
            &child,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status}),
        );
        peer.update_in(
            &child,
            json!({"sessionUpdate": MESSAGE, "messageId": "m2",
            "content": {"type": "text", "text": format!("{file}: {status}.")}}),
        );
        state(json!({"state": "idle", "stopReason": "end_turn"}));
        peer.update(json!({"sessionUpdate": "session_message", "messageId": format!("{id}-reply"),
            "senderSessionId": child, "recipientSessionId": session, "content": text("Internal.")}));
    }

    fn plan(&self) {
        let entry =
            |content: &str, status: &str| json!({"content": content, "priority": "medium", "status": status});
        for done in 0..=3 {
            let status = |at: usize| match at.cmp(&done) {
                std::cmp::Ordering::Less => "completed",
                std::cmp::Ordering::Equal => "in_progress",
                std::cmp::Ordering::Greater => "pending",
            };
            let entries = ["Look around", "Change it", "Check it"].iter().enumerate();
            let entries: Vec<_> = entries.map(|(at, content)| entry(content, status(at))).collect();
            self.peer.update(json!({"sessionUpdate": "plan", "entries": entries}));
        }
    }

    /// Returns an absolute path, as the protocol requires.
    fn path(&self, path: &str) -> String {
        Path::new(&self.peer.session().cwd).join(path).display().to_string()
    }

    fn begin_call(&self, id: &str, title: &str, kind: &str) {
        self.peer
            .update(json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind,
            "status": "in_progress", "rawInput": {"title": title}}));
    }

    fn news(&self, id: &str, mut fields: Value) {
        fields["sessionUpdate"] = "tool_call_update".into();
        fields["toolCallId"] = id.into();
        self.peer.update(fields);
    }

    fn end_call(&self, id: &str, status: &str) {
        let text = json!({"type": "content", "content": {"type": "text", "text": status}});
        self.news(id, json!({"status": status, "content": [text], "rawOutput": {"status": status}}));
    }

    /// Asks with options `ID=KIND=NAME|…`, and returns the id of the chosen one, or `cancelled`.
    fn options(&self, stated: &str) -> String {
        let option = |option: &str| {
            let mut parts = option.splitn(3, '=');
            let mut part = || parts.next().unwrap_or_default();
            json!({"optionId": part(), "kind": part(), "name": part()})
        };
        let options: Vec<_> = stated.split('|').map(option).collect();
        let call = json!({"toolCallId": fresh_call_id(), "title": "Which of these?", "rawInput": {"options": options.len()}});
        let answer =
            self.peer.ask("session/request_permission", json!({"toolCall": call, "options": options}));
        let outcome = &answer["result"]["outcome"];
        outcome["optionId"].as_str().or(outcome["outcome"].as_str()).unwrap_or("no answer").to_owned()
    }

    /// Returns the kind of the chosen option, or `cancelled`.
    fn permission(&self, id: &str, title: &str, raw_input: Value) -> String {
        let options = json!([
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "always", "name": "Yes, always", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]);
        let call = json!({"toolCallId": id, "title": title, "kind": "edit", "status": "pending",
            "rawInput": raw_input});
        let answer =
            self.peer.ask("session/request_permission", json!({"toolCall": call, "options": options}));
        let outcome = &answer["result"]["outcome"];
        outcome["optionId"].as_str().or(outcome["outcome"].as_str()).unwrap_or("no answer").to_owned()
    }

    fn edit(&mut self, name: &str, text: &str, rejection_ends: bool) -> Option<End> {
        let (id, path) = (fresh_call_id(), self.path(name));
        let old = std::fs::read_to_string(&path).ok();
        let title = format!("Write {name}");
        self.begin_call(&id, &title, "edit");
        self.news(
            &id,
            json!({
                "content": [{"type": "diff", "path": path, "oldText": old, "newText": text}],
                "locations": [{"path": path, "line": 1}],
            }),
        );
        let answer = self.permission(&id, &title, json!({"path": path, "content": text}));
        if answer == "cancelled" {
            self.end_call(&id, "failed");
            return Some(End::Stop("cancelled".to_owned()));
        }
        if !["yes", "always"].contains(&answer.as_str()) {
            self.end_call(&id, "failed");
            if rejection_ends {
                return Some(End::Stop("cancelled".to_owned()));
            }
            self.say(&format!("I may not write {name}."));
            return None;
        }
        let offered = self.peer.session().capabilities["fs"]["writeTextFile"] == true;
        let error = if offered {
            let answer = self.peer.ask("fs/write_text_file", json!({"path": path, "content": text}));
            answer["error"]["message"].as_str().map(str::to_owned)
        } else {
            std::fs::write(&path, text).err().map(|error| error.to_string())
        };
        self.end_call(&id, if error.is_some() { "failed" } else { "completed" });
        let refused = error.map(|error| format!("Refused: {error}"));
        self.say(&refused.unwrap_or_else(|| format!("I wrote {name}.")));
        None
    }

    fn terminal(&mut self, command: &str) {
        let mut parts = command.split_whitespace().peekable();
        let mut variables = Vec::new();
        while let Some((name, value)) =
            parts.next_if(|part| part.contains('=')).and_then(|part| part.split_once('='))
        {
            variables.push(json!({"name": name, "value": value}));
        }
        let program = parts.next().unwrap_or_default();
        let arguments: Vec<_> = parts.collect();
        let mut params = json!({"command": program, "args": arguments,
            "cwd": self.peer.session().cwd});
        if !variables.is_empty() {
            params["env"] = variables.into();
        }
        let created = self.peer.ask("terminal/create", params);
        self.run(command, &created);
    }

    /// Shows the end of a requested command.
    fn run(&mut self, command: &str, created: &Value) {
        let id = fresh_call_id();
        let Some(terminal) = created["result"]["terminalId"].as_str() else {
            return self.say_answer(created, |_| "no terminal".to_owned());
        };
        self.peer.update(json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": command,
            "kind": "execute", "status": "in_progress",
            "content": [{"type": "terminal", "terminalId": terminal}]}));
        let ended = self.peer.ask("terminal/wait_for_exit", json!({"terminalId": terminal}));
        let output = self.peer.ask("terminal/output", json!({"terminalId": terminal}));
        let well = ended["result"]["exitCode"] == 0;
        self.news(&id, json!({"status": if well { "completed" } else { "failed" }}));
        self.peer.ask("terminal/release", json!({"terminalId": terminal}));
        let text = output["result"]["output"].as_str().unwrap_or_default().trim().to_owned();
        let ended = &ended["result"];
        self.say(&format!("exit {} signal {}: {text}", ended["exitCode"], ended["signal"]));
    }

    fn late(&self) -> End {
        let id = fresh_call_id();
        self.begin_call(&id, "Goes on", "execute");
        self.peer.say(MESSAGE, "in time ");
        Peer::wait(self.turn, Duration::MAX);
        let peer = self.peer.clone();
        std::thread::spawn(move || {
            // Sent both before the next prompt and in the middle of its answer.
            for number in 0..20 {
                std::thread::sleep(Duration::from_millis(20));
                peer.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "content":
                    [{"type": "content", "content": {"type": "text", "text": format!("late news {number}")}}]}));
            }
            let done = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"});
            peer.update(done);
        });
        self.peer.say(MESSAGE, "late text ");
        End::Stop("cancelled".to_owned())
    }

    fn long_line(&self, megabytes: usize) {
        self.peer.write_raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":\"");
        for _ in 0..megabytes {
            self.peer.write_raw(&vec![b'x'; 1 << 20]);
        }
        self.peer.write_raw(b"\"}\n");
    }
}

/// A permission for a call that was never announced; one of its options has an unknown kind.
fn question(title: &str) -> Value {
    let options = json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "maybe", "name": "Maybe", "kind": "allow_on_sundays"},
    ]);
    json!({"toolCall": {"toolCallId": fresh_call_id(), "title": title}, "options": options})
}

/// Replaces standard output with `/dev/null`, because there is no safe way to close it.
fn close_stdout() {
    use std::os::fd::AsFd as _;
    if let Ok(nowhere) = std::fs::File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nowhere.as_fd());
    }
}
