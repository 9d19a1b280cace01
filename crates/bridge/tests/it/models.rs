//! A real bridge with a scripted local model: modes, answers, activities and model commands.

use crate::support::{self, Client, Scripted, TestBridge, config, prompt, shown};
use openagents_bridge::{Bridge, Explore, Providers};
use openagents_core::{CancellationToken, agent_ids::LOCAL_MODEL, model::*};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::ThreadId,
};

type Answer = dyn Fn(&ModelRequest, &CancellationToken, &mut dyn FnMut(ModelEvent)) -> Result<StopReason, ModelError>
    + Send
    + Sync;

/// A scripted model, and a snapshot that commands change.
#[derive(Clone)]
struct Fake(Arc<Inner>);

struct Inner {
    answer: Box<Answer>,
    asked: Mutex<Vec<ModelRequest>>,
    snapshot: Mutex<ModelsSnapshot>,
    watchers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
    settings: Arc<dyn SettingsStore>,
    shut_down: Mutex<bool>,
    /// The threads that queried the availability, which may read files and the database.
    asked_on: Mutex<Vec<ThreadId>>,
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Fake")
    }
}

impl LanguageModel for Fake {
    fn id(&self) -> &str {
        LOCAL_MODEL
    }
    fn name(&self) -> String {
        "GPTOSS 20B".to_owned()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { tools: true, local: true, loaded: true }
    }
    fn availability(&self) -> Availability {
        self.0.asked_on.lock().unwrap().push(std::thread::current().id());
        Availability::Ready
    }
    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        self.0.asked.lock().unwrap().push(request.clone());
        (self.0.answer)(request, cancel, on_event)
    }
}

impl LocalModels for Fake {
    fn model(&self) -> Arc<dyn LanguageModel> {
        Arc::new(self.clone())
    }
    fn snapshot(&self) -> ModelsSnapshot {
        self.0.snapshot.lock().unwrap().clone()
    }
    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>) {
        self.0.watchers.lock().unwrap().push(on_change);
    }
    fn command(&self, command: ModelCommand) -> Result<(), LocalModelsError> {
        match command {
            ModelCommand::Configure { settings: change } => {
                let mut settings = self.0.snapshot.lock().unwrap().settings.clone();
                settings.change(&change).map_err(LocalModelsError::Refused)?;
                self.0.settings.set(MODEL_SETTINGS, serde_json::to_value(&settings).unwrap())?;
                self.0.snapshot.lock().unwrap().settings = settings;
            }
            ModelCommand::Download { id, accept_licence: false } => {
                let url = "https://www.apache.org/licenses/LICENSE-2.0".to_owned();
                return Err(LocalModelsError::Licence { model: id, licence: "Apache-2.0".to_owned(), url });
            }
            ModelCommand::Remove { id } => return Err(LocalModelsError::Unknown(id)),
            ModelCommand::Load => self.0.snapshot.lock().unwrap().machine.memory_bytes += 1,
            _ => return Err(LocalModelsError::Refused("not here".to_owned())),
        }
        self.0.watchers.lock().unwrap().iter().for_each(|on_change| on_change());
        Ok(())
    }
    fn shut_down(&self) {
        *self.0.shut_down.lock().unwrap() = true;
    }
}

async fn test_bridge(
    answer: impl Fn(
        &ModelRequest,
        &CancellationToken,
        &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError>
    + Send
    + Sync
    + 'static,
) -> (TestBridge, Fake) {
    let (home, folders) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = folders.path().canonicalize().unwrap().join("demo");
    std::fs::create_dir(&workspace).unwrap();
    std::fs::write(workspace.join("README.md"), "# Demo\n").unwrap();
    let made = Arc::new(Mutex::new(None));
    let keep = made.clone();
    let bridge = Bridge::start_with(config(home.path(), &workspace), move |around| {
        let fake = Fake(Arc::new(Inner {
            answer: Box::new(answer),
            asked: Mutex::default(),
            snapshot: Mutex::default(),
            watchers: Mutex::default(),
            settings: around.settings,
            shut_down: Mutex::default(),
            asked_on: Mutex::default(),
        }));
        *keep.lock().unwrap() = Some(fake.clone());
        let explorer: Arc<dyn Explore> = Arc::new(Scripted::new(support::echo));
        Providers { explorer, models: Some(Arc::new(fake)), agents: None, foundation: None }
    })
    .await
    .unwrap();
    let fake = made.lock().unwrap().take().unwrap();
    (TestBridge { home, workspace, bridge, _folders: folders }, fake)
}

fn say(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

async fn session_in(client: &mut Client, test: &TestBridge, mode: &str) -> Value {
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": mode})).await;
    session
}

/// Returns the updates received so far, without activities.
fn updates(client: &mut Client) -> Vec<Value> {
    let notes = client.notes.drain(..).filter(|note| note["method"] == "session/update");
    notes.map(|note| note["params"].clone()).collect()
}

/// Calls a tool, then answers, with reasoning.
fn with_a_call(
    request: &ModelRequest,
    _: &CancellationToken,
    on_event: &mut dyn FnMut(ModelEvent),
) -> Result<StopReason, ModelError> {
    on_event(ModelEvent::Reasoning(Reasoning::new("MARKER of a chain of thought")));
    if !request.messages.iter().any(|message| matches!(message, Message::Tool { .. })) {
        on_event(ModelEvent::Preamble("I look around.".to_owned()));
        let (id, name) = ("1".to_owned(), "fs.list_dir".to_owned());
        on_event(ModelEvent::ToolCall(CallRequest { id, name, arguments: json!({"path": "."}) }));
        return Ok(StopReason::ToolCalls);
    }
    on_event(say("There is a README."));
    on_event(ModelEvent::Usage(Usage { tokens: 5, ..Usage::default() }));
    Ok(StopReason::EndTurn)
}

/// Regression: the models were listed on the event loop, while every other client waited.
#[tokio::test]
async fn modes_are_listed_on_a_blocking_thread() {
    let (test, fake) = test_bridge(with_a_call).await;
    let mut client = test.acp().await;
    let session = session_in(&mut client, &test, LOCAL_MODEL).await;
    let again = json!({"sessionId": session, "cwd": test.workspace, "mcpServers": []});
    client.request("session/load", again.clone()).await;
    client.request("session/resume", again).await;
    let asked_on = fake.0.asked_on.lock().unwrap();
    // The bridge's event loop is this thread.
    assert!(asked_on.len() >= 4 && !asked_on.contains(&std::thread::current().id()), "{asked_on:?}");
}

#[tokio::test]
async fn session_lists_and_changes_modes() {
    let (test, _) = test_bridge(with_a_call).await;
    let mut client = test.acp().await;
    let created = client.request("session/new", json!({"cwd": test.workspace})).await;
    let modes = &created["modes"];
    assert_eq!(modes["currentModeId"], "default_mode");
    let ids: Vec<_> = modes["availableModes"].as_array().unwrap().iter().map(|mode| &mode["id"]).collect();
    assert_eq!(ids, ["default_mode", "gptoss_20b"]);
    assert_eq!(modes["availableModes"][1]["name"], "GPTOSS 20B");
    let session = &created["sessionId"];
    let set = |mode: &str| json!({"sessionId": session, "modeId": mode});
    assert_eq!(client.request("session/set_mode", set("gptoss_20b")).await, json!({}));
    let note = client.note().await;
    assert_eq!(note["update"]["currentModeId"], "gptoss_20b");
    let (code, message) = client.error("session/set_mode", set("codex")).await;
    assert_eq!(code, -32602);
    assert_eq!(message, "There is no mode codex; there are default_mode, gptoss_20b.");
    let loaded = client.request("session/load", json!({"sessionId": session})).await;
    assert_eq!(loaded["modes"]["currentModeId"], "gptoss_20b");
    let attached = client.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    assert_eq!(attached["mode"], "gptoss_20b");
}

#[tokio::test]
async fn session_continues_in_another_mode() {
    let (test, fake) = test_bridge(with_a_call).await;
    let mut client = test.acp().await;
    let session = session_in(&mut client, &test, LOCAL_MODEL).await;
    let result = client.request("session/prompt", prompt(&session, "What is here?")).await;
    assert_eq!(result["stopReason"], "end_turn");
    let notes = updates(&mut client);
    assert_eq!(
        shown(&notes),
        [
            "current_mode_update",
            "user_message_chunk: What is here?",
            "session_info_update: What is here?",
            "agent_thought_chunk: I look around.",
            "tool_call: fs.list_dir",
            "tool_call_update",
            "agent_message_chunk: There is a README.",
            "agent_message_chunk: ",
        ]
    );
    assert_eq!(notes[4]["update"]["rawInput"], json!({"path": "."}));
    assert_eq!(notes[5]["update"]["rawOutput"], json!(["README.md"]));
    let last = &notes[7]["update"];
    assert_eq!(last["_meta"]["openagents"]["usage"]["firstTokenMs"], 0);
    assert_eq!(last["messageId"], notes[6]["update"]["messageId"]);

    // After an exploration the model has the whole transcript.
    let explore = json!({"sessionId": session, "modeId": "default_mode"});
    client.request("session/set_mode", explore).await;
    client.request("session/prompt", prompt(&session, "explore it")).await;
    client.request("session/set_mode", json!({"sessionId": session, "modeId": LOCAL_MODEL})).await;
    client.request("session/prompt", prompt(&session, "And now?")).await;
    let asked = fake.0.asked.lock().unwrap();
    let texts: Vec<&str> = asked
        .last()
        .unwrap()
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::User { text } => Some(text.as_str()),
            Message::Assistant(reply) if !reply.text.is_empty() => Some(&reply.text),
            _ => None,
        })
        .collect();
    assert_eq!(texts[..3], ["What is here?", "There is a README.", "explore it"]);
    assert_eq!(texts.last(), Some(&"And now?"));
}

/// A model's reasoning is neither sent, in either dialect, nor stored.
#[tokio::test]
async fn chain_of_thought_stays_in_the_turn() {
    let (test, fake) = test_bridge(with_a_call).await;
    let (mut client, mut phone, mut watcher) = (test.acp().await, test.phone().await, test.acp().await);
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    phone.request("session/set_mode", json!({"session_id": session, "mode_id": LOCAL_MODEL})).await;
    client.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    phone
        .request("session/prompt", json!({"session_id": session, "prompt": [{"type": "text", "text": "go"}]}))
        .await;
    let output = phone.notes_until("There is a README.").await;
    assert_eq!(
        shown(&output),
        [
            "current_mode_update",
            "agent_thought_chunk: I look around.",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk: There is a README."
        ]
    );
    assert_eq!(output[0]["update"]["current_mode_id"], "default_mode");
    client.notes_until("usage").await;
    let history = phone.request("tinyvex/history.sessionTimeline", json!({"session_id": session})).await;
    // The app gets no chunk that has only usage.
    let empty = |note: &&Value| note["update"]["content"]["content"]["text"] == "";
    assert_eq!(history.as_array().unwrap().iter().filter(empty).count(), 0);
    assert!(history.to_string().contains("There is a README."));

    let asked = fake.0.asked.lock().unwrap().clone();
    let Some(Message::Assistant(reply)) =
        asked[1].messages.iter().find(|m| matches!(m, Message::Assistant(_)))
    else {
        panic!("the model did not get its reasoning back");
    };
    assert!(reply.reasoning.for_template().contains("MARKER"));
    let frames = watcher.request("_openagents/inspect", json!({})).await.to_string();
    assert!(frames.contains("There is a README.") && !frames.contains("MARKER"));
    let TestBridge { home, bridge, .. } = test;
    bridge.shutdown().await;
    for file in std::fs::read_dir(home.path()).unwrap() {
        // Databases remove their logs when they are closed.
        let Ok(bytes) = std::fs::read(file.unwrap().path()) else { continue };
        assert!(!bytes.windows(6).any(|window| window == b"MARKER"));
    }
}

#[tokio::test]
async fn cancel_ends_answer_and_next_prompt_runs() {
    let (test, _) = test_bridge(|request, cancel, on_event| {
        on_event(say("Begun. "));
        let endless = matches!(request.messages.last(), Some(Message::User { text }) if text == "endless");
        while endless && !cancel.is_cancelled() {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        if endless { Err(ModelError::Cancelled) } else { Ok(StopReason::EndTurn) }
    })
    .await;
    let mut client = test.acp().await;
    let session = session_in(&mut client, &test, LOCAL_MODEL).await;
    let id = client.ask("session/prompt", prompt(&session, "endless")).await;
    client.notes_until("Begun.").await;
    client.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    assert_eq!(shown(&updates(&mut client)), ["agent_message_chunk: Cancelled."]);
    let result = client.request("session/prompt", prompt(&session, "short")).await;
    assert_eq!(result["stopReason"], "end_turn");
}

#[tokio::test]
async fn failing_model_gives_a_reason() {
    let (test, _) =
        test_bridge(|_, _, _| Err(ModelError::Unavailable("download gpt-oss-20b first".to_owned()))).await;
    let mut client = test.acp().await;
    let session = session_in(&mut client, &test, LOCAL_MODEL).await;
    client.request("session/prompt", prompt(&session, "hello")).await;
    let notes = updates(&mut client);
    assert_eq!(shown(&notes[notes.len() - 1..]), ["agent_message_chunk: ❌ download gpt-oss-20b first"]);
}

#[tokio::test]
async fn activities_are_sent_live_and_never_stored() {
    let (test, _) = test_bridge(|_, cancel, on_event| {
        on_event(ModelEvent::Activity(Activity::Loading { progress: 0.5 }));
        while !cancel.is_cancelled() {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        Err(ModelError::Cancelled)
    })
    .await;
    let (mut client, mut late) = (test.acp().await, test.acp().await);
    let session = session_in(&mut client, &test, LOCAL_MODEL).await;
    let id = client.ask("session/prompt", prompt(&session, "load")).await;
    let loading = json!({"sessionId": session, "activity": {"state": "loading", "progress": 0.5}});
    assert_eq!(client.notes_until("loading").await.last(), Some(&loading));
    // A client that joins during the activity gets it too.
    late.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    assert_eq!(late.notes_until("loading").await.last(), Some(&loading));
    client.notify("session/cancel", json!({"sessionId": session})).await;
    client.answer(id).await;
    let nothing = json!({"sessionId": session, "activity": null});
    assert_eq!(late.notes_until("\"activity\":null").await.last(), Some(&nothing));
    // A client that joins later does not.
    let mut last = test.acp().await;
    last.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    let notes = last.notes_until("Cancelled.").await;
    assert!(notes.iter().all(|note| note.get("activity").is_none()));
}

#[tokio::test]
async fn models_are_listed_watched_and_commanded() {
    let (test, fake) = test_bridge(with_a_call).await;
    let (mut watcher, mut other) = (test.acp().await, test.acp().await);
    let snapshot = watcher.request("_openagents/models/list", json!({"watch": true})).await;
    assert_eq!(snapshot["settings"]["idleMinutes"], 10);
    let settings = json!({"temperature": 0.25, "idleMinutes": 60});
    let after = other.request("_openagents/models/configure", json!({"settings": settings})).await;
    assert_eq!(
        (&after["settings"]["temperature"], &after["settings"]["topP"]),
        (&json!(0.25), &json!(0.9f32))
    );
    assert_eq!(watcher.note().await, after);
    // A burst gives few notifications.
    for _ in 0..50 {
        other.request("_openagents/models/load", json!({})).await;
    }
    let (mut output, mut last) = (0, json!(null));
    while last["machine"]["memoryBytes"] != 50 {
        last = watcher.note().await;
        output += 1;
    }
    assert!(output < 50, "every change was sent");
    assert!(other.notes.is_empty());

    for (method, params, code, kind) in [
        ("download", json!({"id": "gpt-oss-20b"}), -32000, "licence"),
        ("remove", json!({"id": "nope"}), -32002, "unknown_model"),
        ("pause", json!({"id": "x"}), -32000, "refused"),
        ("configure", json!({"settings": {"idleMinutes": 7}}), -32000, "refused"),
    ] {
        let id = other.ask(&format!("_openagents/models/{method}"), params).await;
        let error = other.answer(id).await["error"].clone();
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(code), &json!(kind)), "{error}");
    }
    for (method, params, code) in [
        ("add", json!({}), -32602),
        ("configure", json!({"settings": 1}), -32602),
        ("list", json!({"watch": "yes"}), -32602),
        ("explode", json!({}), -32601),
    ] {
        assert_eq!(other.error(&format!("_openagents/models/{method}"), params).await.0, code, "{method}");
    }
    // Stored for the next start.
    assert_eq!(fake.0.settings.get(MODEL_SETTINGS).unwrap().unwrap()["temperature"], 0.25);
    let TestBridge { bridge, .. } = test;
    bridge.shutdown().await;
    assert!(*fake.0.shut_down.lock().unwrap());
}

#[tokio::test]
async fn bridge_without_models_has_no_model_methods() {
    let test = TestBridge::new(support::echo).await;
    let mut client = test.acp().await;
    for method in ["list", "load", "use"] {
        let (code, _) = client.error(&format!("_openagents/models/{method}"), json!({"id": "x"})).await;
        assert_eq!(code, -32601);
    }
    let created = client.request("session/new", json!({"cwd": test.workspace})).await;
    assert_eq!(created["modes"]["availableModes"].as_array().unwrap().len(), 1);
}

/// Many prompts for a model must not block explorations.
#[tokio::test]
async fn waiting_prompts_leave_room_for_explorations() {
    let (test, _) = test_bridge(|_, cancel, on_event| {
        on_event(say("Begun."));
        while !cancel.is_cancelled() {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        Err(ModelError::Cancelled)
    })
    .await;
    let mut client = test.acp().await;
    for _ in 0..12 {
        let session = session_in(&mut client, &test, LOCAL_MODEL).await;
        client.ask("session/prompt", prompt(&session, "wait")).await;
        client.notes_until("Begun.").await;
    }
    client.request("_openagents/explore", json!({"root": test.workspace, "goals": ["explored"]})).await;
    client.notes_until("\"explored\"").await;
}

/// The mode at the time of sending applies.
#[tokio::test]
async fn waiting_prompt_keeps_its_mode() {
    let released = Arc::new(AtomicBool::new(false));
    let waits = released.clone();
    let (test, fake) = test_bridge(move |_, _, on_event| {
        while !waits.load(Ordering::SeqCst) {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        on_event(say("by the model"));
        Ok(StopReason::EndTurn)
    })
    .await;
    let mut client = test.acp().await;
    let session = session_in(&mut client, &test, LOCAL_MODEL).await;
    let first = client.ask("session/prompt", prompt(&session, "one")).await;
    let second = client.ask("session/prompt", prompt(&session, "two")).await;
    client.request("session/set_mode", json!({"sessionId": session, "modeId": "default_mode"})).await;
    let third = client.ask("session/prompt", prompt(&session, "hello")).await;
    released.store(true, Ordering::SeqCst);
    for id in [first, second, third] {
        client.answer(id).await;
    }
    assert_eq!(fake.0.asked.lock().unwrap().len(), 2);
    let reply = shown(&updates(&mut client));
    assert!(reply.last().unwrap().starts_with("agent_message_chunk: We are OpenAgents"), "{reply:?}");
}

#[tokio::test]
async fn cut_answer_has_stop_reason_max_tokens() {
    let (test, _) = test_bridge(|_, _, on_event| {
        on_event(ModelEvent::Reasoning(Reasoning::new("on and on")));
        on_event(ModelEvent::Usage(Usage { tokens: 5, ..Usage::default() }));
        Ok(StopReason::MaxTokens)
    })
    .await;
    let mut client = test.acp().await;
    let session = session_in(&mut client, &test, LOCAL_MODEL).await;
    let result = client.request("session/prompt", prompt(&session, "tell me everything")).await;
    assert_eq!(result["stopReason"], "max_tokens");
    let last = updates(&mut client).pop().unwrap();
    assert!(last["update"]["content"]["text"].as_str().unwrap().starts_with("The answer was cut off"));
    assert_eq!(last["update"]["_meta"]["openagents"]["usage"]["tokens"], 5);
}

/// In the transcript of the third prompt, each answer follows its own prompt.
#[tokio::test]
async fn prompt_after_a_cut_answer_gets_its_own() {
    let released = Arc::new(AtomicBool::new(false));
    let waits = released.clone();
    let (test, fake) = test_bridge(move |request, _, on_event| {
        while !waits.load(Ordering::SeqCst) {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        let Some(Message::User { text }) = request.messages.last() else { panic!("no prompt") };
        if text == "one" {
            return Ok(StopReason::MaxTokens);
        }
        on_event(say(&format!("answer to {text}")));
        Ok(StopReason::EndTurn)
    })
    .await;
    let mut client = test.acp().await;
    let session = session_in(&mut client, &test, LOCAL_MODEL).await;
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        ids.push(client.ask("session/prompt", prompt(&session, text)).await);
    }
    client.notes_until("three").await;
    released.store(true, Ordering::SeqCst);
    for id in ids {
        client.answer(id).await;
    }
    let asked = fake.0.asked.lock().unwrap();
    let texts: Vec<&str> = asked[2]
        .messages
        .iter()
        .map(|message| match message {
            Message::User { text } | Message::Tool { text, .. } => text.as_str(),
            Message::Assistant(reply) => &reply.text,
        })
        .collect();
    let cut = "The answer was cut off: the conversation fills the model's context.";
    assert_eq!(texts, ["one", cut, "two", "answer to two", "three"]);
}

/// The app does not know this mode: it gets `default_mode` and sends that before every prompt.
#[tokio::test]
async fn phone_repeating_default_mode_keeps_mode() {
    let (test, fake) = test_bridge(with_a_call).await;
    let (mut client, mut phone) = (test.acp().await, test.phone().await);
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": LOCAL_MODEL})).await;
    phone.request("session/set_mode", json!({"session_id": session, "mode_id": "default_mode"})).await;
    phone
        .request("session/prompt", json!({"session_id": session, "prompt": [{"type": "text", "text": "go"}]}))
        .await;
    phone.notes_until("There is a README.").await;
    assert_eq!(fake.0.asked.lock().unwrap().len(), 2);
    let attached = client.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    assert_eq!(attached["mode"], LOCAL_MODEL);
    // Another mode that it knows is a real change.
    phone.request("session/set_mode", json!({"session_id": session, "mode_id": "codex"})).await;
    let loaded = client.request("session/load", json!({"sessionId": session})).await;
    assert_eq!(loaded["modes"]["currentModeId"], "codex");
    let available = loaded["modes"]["availableModes"].as_array().unwrap();
    assert!(available.iter().any(|mode| mode["id"] == "codex"), "{available:?}");
}
