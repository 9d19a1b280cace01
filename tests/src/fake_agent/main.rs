//! An agent that speaks the Agent Client Protocol on its standard input and output, follows the words in a prompt,
//! and misbehaves on request. No model, no network: `fake-agent`. `fake-agent replay FILE` plays a recording.
//!
//! A prompt is run word by word, from left to right; text outside of words is ignored. A prompt without a word is
//! answered with `You said: …`. If a turn ends without a message, the agent sends `Done.`
//!
//! | word | effect |
//! |---|---|
//! | `[[say TEXT]]`, `[[think TEXT]]` | a message, a thought, with one chunk per word |
//! | `[[words N]]` | N words, 10 ms apart, until the turn is cancelled |
//! | `[[plan]]` | a plan of three entries that advances |
//! | `[[edit PATH]]` | a tool call with a diff, a permission, then the write (`fs/write_text_file` if it is offered) |
//! | `[[edit-or-end PATH]]` | the same; a rejection ends the turn as `cancelled`, as Codex does |
//! | `[[ask TITLE]]` | a permission for a call that was never announced |
//! | `[[options ID=KIND=NAME\|…]]` | a permission with these options; sends the id of the chosen one |
//! | `[[form]]`, `[[open URL]]` | asks the user with a form, or to open an address; sends the response |
//! | `[[update JSON]]` | an update; no `]]` in it |
//! | `[[mode ID]]`, `[[which-mode]]` | changes its mode by itself and reports it; sends its mode |
//! | `[[until-mode ID]]` | waits until its mode is set to this, or the turn is cancelled |
//! | `[[servers]]` | sends its process and the MCP servers that it got |
//! | `[[capability NAME]]` | sends whether the client offers `readTextFile`, `writeTextFile` |
//! | `[[silence]]` | a turn without output |
//! | `[[log]]` | a log line in JSON, with the id of the prompt's request |
//! | `[[refuse-login MESSAGE]]` | ends the turn with the error for "log in first" |
//! | `[[read PATH]]`, `[[write PATH TEXT]]` | through the client, offered or not, without asking |
//! | `[[ask-and-take-back TITLE]]` | a permission, and its `$/cancel_request` in the same write |
//! | `[[ask-thrice TITLE]]` | three permissions with one id |
//! | `[[run NAME=VALUE COMMAND]]` | through the client's terminal, with or without variables, shown in a tool call |
//! | `[[run-and-write PATH COMMAND]]` | a command line in the client's terminal; writes PATH while it is pending |
//! | `[[call TITLE]]` | a tool call that begins and ends well |
//! | `[[open-call]]` | a tool call that never ends |
//! | `[[no-tool-call]]` | updates of a call that was never announced |
//! | `[[reuse-ids]]` | a tool call with the id `1`, each time |
//! | `[[after-end]]` | a tool call, and updates of it after its end |
//! | `[[late]]` | begins a call, waits for the cancel, ends the turn, then continues: text, and updates of the call |
//! | `[[silent]]` | nothing until the cancel |
//! | `[[hang-after-cancel]]` | nothing, whatever happens |
//! | `[[crash]]` | begins a call, writes to stderr, exits with code 3 |
//! | `[[bad-frame]]`, `[[junk]]`, `[[long-line MB]]` | invalid JSON-RPC, non-text bytes, a line of MB megabytes |
//! | `[[raw PATH]]` | the bytes of a file, unchanged |
//! | `[[junk-forever]]` | bad lines without end |
//! | `[[flood N]]` | N chunks as fast as they are read |
//! | `[[unknown-response]]`, `[[duplicate-response]]` | responses without a request; the turn's response twice |
//! | `[[unknown-request]]` | calls a method that does not exist and sends the error code |
//! | `[[close-stdout]]` | closes its output and stays alive |
//! | `[[stop REASON]]`, `[[fail MESSAGE]]` | ends the turn with this stop reason, with an error |
//! | `[[links]]`, `[[images]]` | sends the addresses of the prompt's links, the types and sizes of its images |
//! | `[[until-steered]]` | waits until it gets a prompt in this turn and sends it, or until the turn is cancelled |
//! | `[[env NAME]]`, `[[session]]`, `[[cwd]]` | sends a variable, its session and the number of prompts, its folder |
//! | `[[leave-process]]` | starts `sleep 300` in its process group and sends its id |
//! | `[[leave-detached]]` | the same in a separate process group, which holds the agent's output open |
//! | `[[wait MS]]` | waits this long, or until the turn is cancelled |
//!
//! | variable | effect |
//! |---|---|
//! | `FAKE_AGENT_SILENT` | `initialize` is never answered |
//! | `FAKE_AGENT_SLOW` | `initialize` is answered after this many milliseconds |
//! | `FAKE_AGENT_EXIT` | it prints an error on stderr and exits with this code at once |
//! | `FAKE_AGENT_AUTH` | sessions need a login |
//! | `FAKE_AGENT_MODE` | the mode in which sessions are opened, instead of `ask`; also earlier ones |
//! | `FAKE_AGENT_MODE_OPTION` | the mode is a configuration option too |
//! | `FAKE_AGENT_LOCKED` | the mode is fixed: `refuse` causes an error, anything else a response with the old mode |
//! | `FAKE_AGENT_NEVER_ASKS` | there is no mode `ask` |
//! | `FAKE_AGENT_EARLY` | it sends updates before it has answered `session/new` and changes of options |
//! | `FAKE_AGENT_SPREAD` | its response to `initialize` spans several lines |
//! | `FAKE_AGENT_LOAD` | `loadSession` is offered and replays the conversation; `fail`: it fails |
//! | `FAKE_AGENT_RESUME`, `FAKE_AGENT_FORK` | `session/resume`, `session/fork` is offered |
//! | `FAKE_AGENT_SESSIONS` | the file with its sessions, as `session/list` has them; two a page |
//! | `FAKE_AGENT_IMAGES` | prompts may have images |
//! | `FAKE_AGENT_STEERING` | prompts may come during a turn; `refuse`: each is refused |
//! | `FAKE_AGENT_RAW` | it writes the bytes of this file and exits |
//! | `FAKE_AGENT_BANNER` | it prints a banner on its standard output, as no agent should |

#![expect(clippy::print_stderr, reason = "what an agent says there is shown when it crashes")]

mod peer;
mod replay;
mod script;

use peer::Peer;
use serde_json::{Value, json};
use std::{io::BufRead as _, sync::Arc};

fn main() {
    if let Ok(code) = std::env::var("FAKE_AGENT_EXIT") {
        eprintln!("fake-agent: told to exit");
        std::process::exit(code.parse().unwrap_or(1));
    }
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|word| word == "replay") {
        let path = arguments.next().unwrap_or_default();
        // Ends when the client exits.
        replay::run(path.as_ref());
        return;
    }
    let peer = Arc::new(Peer::default());
    if std::env::var_os("FAKE_AGENT_BANNER").is_some() {
        peer.write_raw(b"Welcome to fake-agent!\n");
    }
    if let Some(path) = std::env::var_os("FAKE_AGENT_RAW") {
        peer.write_raw(&std::fs::read(path).unwrap_or_default());
        return;
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(frame) = serde_json::from_str::<Value>(&line) else { continue };
        match (frame["method"].as_str(), frame.get("id")) {
            (Some(method), Some(id)) => request(&peer, method, id.clone(), &frame["params"]),
            (Some("session/cancel"), None) => {
                peer.cancel(frame["params"]["sessionId"].as_str().unwrap_or_default());
            }
            (Some(_), None) => {}
            (None, Some(_)) => peer.answered(frame),
            (None, None) => {}
        }
    }
    // The input is closed: the program that started us has exited.
    std::process::exit(0);
}

/// The sessions that it keeps.
fn own_sessions() -> Vec<Value> {
    let file = std::env::var("FAKE_AGENT_SESSIONS").unwrap_or_default();
    let text = std::fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn page_of(sessions: &[Value], params: &Value) -> Value {
    let from = params["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0_usize);
    let page: Vec<_> = sessions.iter().skip(from).take(2).cloned().collect();
    let next = (from + 2 < sessions.len()).then(|| (from + 2).to_string());
    json!({"sessions": page, "nextCursor": next})
}

fn request(peer: &Arc<Peer>, method: &str, id: Value, params: &Value) {
    let set = |name: &str| std::env::var(name).ok();
    match method {
        "initialize" if set("FAKE_AGENT_SILENT").is_some() => {}
        "initialize" => {
            let slow = set("FAKE_AGENT_SLOW").and_then(|ms| ms.parse().ok()).unwrap_or_default();
            std::thread::sleep(std::time::Duration::from_millis(slow));
            if set("FAKE_AGENT_SPREAD").is_some() {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": 1}});
                peer.write_raw(format!("{answer:#}\n").as_bytes());
                return;
            }
            peer.set_capabilities(params["clientCapabilities"].clone());
            let mut sessions = json!({"close": {}});
            if set("FAKE_AGENT_RESUME").is_some() {
                sessions["resume"] = json!({});
            }
            if set("FAKE_AGENT_FORK").is_some() {
                sessions["fork"] = json!({});
            }
            if set("FAKE_AGENT_SESSIONS").is_some() {
                sessions["list"] = json!({});
                sessions["delete"] = json!({});
            }
            let prompts = json!({"embeddedContext": true, "image": set("FAKE_AGENT_IMAGES").is_some()});
            peer.respond(
                &id,
                json!({
                    "protocolVersion": 1,
                    "agentInfo": {"name": "fake-agent", "title": "Fake Agent", "version": "1.0.0"},
                    "agentCapabilities": {
                        "loadSession": set("FAKE_AGENT_LOAD").is_some(),
                        "promptCapabilities": prompts,
                        "sessionCapabilities": sessions,
                    },
                    "authMethods": [{"id": "login", "name": "Log in", "description": "Run `fake-agent login`"}],
                    "_meta": {"steering": {"supported": set("FAKE_AGENT_STEERING").is_some()}},
                }),
            );
        }
        "session/new" if set("FAKE_AGENT_AUTH").is_some() => {
            peer.fail(&id, -32000, "Authentication required")
        }
        "session/new" => {
            let session = format!("fake-{}", std::process::id());
            peer.open(&session, params);
            if set("FAKE_AGENT_EARLY").is_some() {
                greet(peer);
            }
            let mut answer = state(peer, &peer.session().mode);
            answer["sessionId"] = session.into();
            peer.respond(&id, answer);
        }
        "session/list" => peer.respond(&id, page_of(&own_sessions(), params)),
        "session/delete" => {
            let mut sessions = own_sessions();
            sessions.retain(|session| session["sessionId"] != params["sessionId"]);
            if let Some(file) = set("FAKE_AGENT_SESSIONS") {
                // A test notices that the file is unchanged.
                let _ = std::fs::write(file, Value::from(sessions).to_string());
            }
            peer.respond(&id, json!({}));
        }
        "session/fork" => {
            let session = format!("fork-of-{}", params["sessionId"].as_str().unwrap_or_default());
            peer.open(&session, params);
            let mut answer = state(peer, &peer.session().mode);
            answer["sessionId"] = session.into();
            peer.respond(&id, answer);
        }
        "_session/steering" => {
            let text = params["prompt"][0]["text"].as_str().unwrap_or_default();
            let is_taken = set("FAKE_AGENT_STEERING").as_deref() != Some("refuse");
            if is_taken {
                peer.steer(text);
            }
            peer.respond(
                &id,
                match is_taken {
                    true => json!({"outcome": "injected"}),
                    false => json!({"outcome": "promptRequired", "reason": "noRunningTurn"}),
                },
            );
        }
        "session/load" if set("FAKE_AGENT_LOAD").as_deref() == Some("fail") => {
            peer.fail(&id, -32002, "Resource not found");
        }
        "session/load" | "session/resume" => {
            let session = params["sessionId"].as_str().unwrap_or_default();
            peer.open(session, params);
            if method == "session/load" {
                peer.update(json!({"sessionUpdate": "user_message_chunk",
                    "content": {"type": "text", "text": "Replayed prompt"}}));
                peer.update(
                    json!({"sessionUpdate": "tool_call", "toolCallId": "replayed", "title": "Replayed call",
                    "kind": "read", "status": "completed"}),
                );
                peer.update(json!({"sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": "Replayed answer"}}));
            }
            peer.respond(&id, state(peer, &peer.session().mode));
        }
        "session/set_mode" | "session/set_config_option"
            if set("FAKE_AGENT_LOCKED").as_deref() == Some("refuse") =>
        {
            peer.fail(&id, -32602, "the mode is locked");
        }
        "session/set_mode" => {
            // Answered first: what a script does after the change comes after the answer.
            peer.respond(&id, json!({}));
            peer.set_mode(params["modeId"].as_str().unwrap_or_default());
        }
        "session/set_config_option" => {
            let value = params["value"].as_str().unwrap_or_default();
            let before = peer.session().mode;
            let mut mode = before.as_str();
            match params["configId"].as_str() {
                Some("mode") if set("FAKE_AGENT_LOCKED").is_none() => mode = value,
                Some("speed") => peer.set_speed(value),
                _ => {}
            }
            let options = state(peer, mode)["configOptions"].take();
            if set("FAKE_AGENT_EARLY").is_some() {
                peer.update(json!({"sessionUpdate": "config_option_update", "configOptions": options}));
            }
            peer.respond(&id, json!({"configOptions": options}));
            peer.set_mode(mode);
        }
        "session/close" => peer.respond(&id, json!({})),
        "session/prompt" => {
            let text: String = params["prompt"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|block| block["text"].as_str())
                .collect();
            let (peer, turn) = (peer.clone(), peer.begin(&params["prompt"]));
            // The summary of an earlier session comes before the prompt and is not run again.
            let reply = text
                .rsplit_once("</earlier_session>\n\nThe prompt:\n\n")
                .map(|(_, prompt)| prompt.to_owned());
            std::thread::spawn(move || script::run(&peer, &turn, &id, &reply.unwrap_or(text)));
        }
        _ => peer.fail(&id, -32601, &format!("Method not found: {method}")),
    }
}

/// Returns the session's modes and options, as responses report them.
fn state(peer: &Peer, current: &str) -> Value {
    let mut modes = vec![("ask", "Ask first"), ("plan", "Plan"), ("auto", "Auto")];
    if std::env::var_os("FAKE_AGENT_NEVER_ASKS").is_some() {
        modes.retain(|(id, _)| *id != "ask");
    }
    let speeds = [("fast", "Fast"), ("slow", "Slow")];
    let option = |id: &str, current: &str, values: &[(&str, &str)]| {
        let values: Vec<_> =
            values.iter().map(|(value, name)| json!({"value": value, "name": name})).collect();
        json!({"id": id, "name": id, "category": id, "type": "select", "currentValue": current, "options": values})
    };
    let available: Vec<_> = modes.iter().map(|(id, name)| json!({"id": id, "name": name})).collect();
    let mut options = vec![option("speed", &peer.session().speed, &speeds)];
    if std::env::var_os("FAKE_AGENT_MODE_OPTION").is_some() {
        options.push(option("mode", current, &modes));
    }
    json!({"modes": {"currentModeId": current, "availableModes": available}, "configOptions": options})
}

/// Sends the updates that some agents send before the response that opens the session.
fn greet(peer: &Peer) {
    peer.update(json!({"sessionUpdate": "config_option_update", "configOptions": []}));
    let commands = json!([{"name": "init", "description": "Sets up"}]);
    peer.update(json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}));
    peer.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "auto"}));
    peer.say("agent_message_chunk", "Good morning.");
    peer.update(json!({"sessionUpdate": "tool_call", "toolCallId": "early", "title": "Start a server", "kind": "other",
        "status": "failed"}));
}
