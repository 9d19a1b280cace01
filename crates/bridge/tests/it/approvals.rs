//! Approvals: stored, shown to all clients, answered once.

use crate::support::{
    self, TestBridge,
    agents::{self, ScriptedAgent, asked, asks_to_edit, others_client, ours_client, session_in},
    prompt, shown,
};
use openagents_core::{
    CancellationToken,
    agent::AgentRequest,
    agent_ids::CODEX,
    approval::{ApprovalCommand, ApprovalOption, ApprovalRequest, ApprovalSubject, OptionKind},
    update::{AgentPart, ContextUsage, OfferedCommand, RunState},
};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// An agent that asks to edit the file in its prompt.
fn asker() -> Arc<ScriptedAgent> {
    ScriptedAgent::new(CODEX, |request, host, cancel| asks_to_edit(&request.text, host, cancel))
}

fn answer(session: &Value, approval: &Value, option: &str) -> Value {
    json!({"sessionId": session, "approvalId": approval["id"], "optionId": option})
}

#[tokio::test]
async fn approval_is_answered_by_another_client() {
    let (test, _) = agents::test_bridge(vec![asker()]).await;
    let (mut window, mut phone) = (ours_client(&test, "Window").await, ours_client(&test, "Phone").await);
    let session = session_in(&mut window, &test, CODEX).await;
    let id = window.ask("session/prompt", prompt(&session, "a.rs")).await;
    let approval = asked(&mut window).await;
    insta::assert_json_snapshot!(approval, {".id" => "[id]", ".callId" => "[call]", ".askedAt" => 0});

    let attached = phone.request("_openagents/attach", json!({"sessionId": session})).await;
    assert_eq!(attached["approvals"], json!([approval]));
    let unknown = phone.error("_openagents/approvals/answer", answer(&session, &approval, "maybe")).await;
    assert_eq!(unknown, (-32602, "Unknown option maybe. Options: yes, no.".to_owned()));
    let unknown_approval = json!({"sessionId": session, "approvalId": "x", "optionId": "yes"});
    assert_eq!(phone.error("_openagents/approvals/answer", unknown_approval).await.0, -32002);

    let stands = phone.request("_openagents/approvals/answer", answer(&session, &approval, "yes")).await;
    assert_eq!(
        (&stands["state"], &stands["optionId"], &stands["by"]),
        (&json!("answered"), &json!("yes"), &json!("Phone"))
    );
    let ended = window.answer(id).await;
    assert_eq!(ended["result"]["stopReason"], "end_turn");
    let notes = window.notes.iter().map(|frame| frame["params"].clone()).collect::<Vec<_>>();
    let output = notes.iter().find(|note| agents::approval(note)["state"] == "answered").unwrap();
    assert_eq!(agents::approval(output), &stands);
    assert!(notes.iter().any(|note| note.to_string().contains("told yes")));
    // A later answer changes nothing and returns the current state.
    let later = window.request("_openagents/approvals/answer", answer(&session, &approval, "no")).await;
    assert_eq!(later, stands);
    let attached = phone.request("_openagents/attach", json!({"sessionId": session})).await;
    assert_eq!(attached["approvals"], json!([]));
}

#[tokio::test]
async fn first_concurrent_answer_counts() {
    let (test, _) = agents::test_bridge(vec![asker()]).await;
    for _ in 0..20 {
        let (mut one, mut two) = (ours_client(&test, "One").await, ours_client(&test, "Two").await);
        let session = session_in(&mut one, &test, CODEX).await;
        let id = one.ask("session/prompt", prompt(&session, "a.rs")).await;
        let approval = asked(&mut one).await;
        let (first, second) = tokio::join!(
            one.request("_openagents/approvals/answer", answer(&session, &approval, "yes")),
            two.request("_openagents/approvals/answer", answer(&session, &approval, "no")),
        );
        assert_eq!(first, second);
        let output = format!("told {}", first["optionId"].as_str().unwrap());
        one.answer(id).await;
        assert_eq!(one.notes.iter().filter(|note| note.to_string().contains("told ")).count(), 1);
        assert!(one.notes.iter().any(|note| note.to_string().contains(&output)));
    }
}

#[tokio::test]
async fn editor_gets_permission_request() {
    let (test, _) = agents::test_bridge(vec![asker()]).await;
    let mut window = ours_client(&test, "Window").await;
    let (mut editor, mut late) = (others_client(&test, "Editor").await, others_client(&test, "Late").await);
    let session = session_in(&mut window, &test, CODEX).await;
    editor.request("_openagents/attach", json!({"sessionId": session})).await;
    let id = window.ask("session/prompt", prompt(&session, "a.rs")).await;
    asked(&mut window).await;
    let request = loop {
        let frame = editor.frame().await;
        if frame["method"] == "session/request_permission" {
            break frame;
        }
    };
    insta::assert_json_snapshot!(request, {
        ".id" => "[id]", ".params.sessionId" => "[session]", ".params.toolCall.toolCallId" => "[call]"
    });
    // A client that joins later is asked too while the approval is pending.
    late.request("_openagents/attach", json!({"sessionId": session})).await;
    let again = loop {
        let frame = late.frame().await;
        if frame["method"] == "session/request_permission" {
            break frame;
        }
    };
    assert_eq!(again["id"], request["id"]);
    // An error, an unknown option and disconnecting are not answers. A client that returns is asked again.
    let error = json!({"error": {"code": -32601, "message": "Method not found"}});
    let unknown = json!({"result": {"outcome": {"outcome": "selected", "optionId": "maybe"}}});
    for mut no_answer in [error, unknown] {
        no_answer["jsonrpc"] = "2.0".into();
        no_answer["id"] = again["id"].clone();
        late.send(&no_answer).await;
        late.request("_openagents/attach", json!({"sessionId": session})).await;
        let once_more = loop {
            let frame = late.frame().await;
            if frame["method"] == "session/request_permission" {
                break frame;
            }
        };
        assert_eq!(once_more["id"], request["id"]);
    }
    drop(late);
    let mut gone = others_client(&test, "Gone").await;
    gone.request("_openagents/attach", json!({"sessionId": session})).await;
    drop(gone);
    let mut third = others_client(&test, "Third").await;
    third.request("session/load", json!({"sessionId": session})).await;

    let selected = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
    editor.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": selected})).await;
    window.answer(id).await;
    let output =
        window.notes.iter().find(|note| agents::approval(&note["params"])["state"] == "answered").unwrap();
    assert_eq!(agents::approval(&output["params"])["by"], "Editor");
    let cancel = loop {
        let frame = match third.notes.pop_front() {
            Some(frame) => frame,
            None => third.frame().await,
        };
        if frame["method"] == "$/cancel_request" {
            break frame;
        }
    };
    assert_eq!(cancel["params"]["requestId"], request["id"]);
    // Our clients use only the log, and the client that answered gets no cancel.
    assert!(window.notes.iter().all(|note| note["method"] != "session/request_permission"));
    editor.request("session/list", json!({})).await;
    assert!(editor.notes.iter().all(|note| note["method"] != "$/cancel_request"), "{:?}", editor.notes);
}

/// Regression: the agent kept waiting.
#[tokio::test]
async fn editor_cancelled_answer_ends_turn() {
    let (test, _) = agents::test_bridge(vec![asker()]).await;
    let (mut window, mut editor) = (ours_client(&test, "Window").await, others_client(&test, "Editor").await);
    let session = session_in(&mut window, &test, CODEX).await;
    editor.request("_openagents/attach", json!({"sessionId": session})).await;
    for _ in 0..2 {
        window.notes.clear();
        let id = window.ask("session/prompt", prompt(&session, "a.rs")).await;
        let approval = asked(&mut window).await;
        let request = loop {
            let frame = editor.frame().await;
            if frame["method"] == "session/request_permission" && frame["id"] == approval["id"] {
                break frame;
            }
        };
        let cancelled = json!({"outcome": {"outcome": "cancelled"}});
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": cancelled});
        editor.send(&answer).await;
        assert_eq!(window.answer(id).await["result"]["stopReason"], "cancelled");
        let notes: Vec<Value> = window.notes.drain(..).map(|frame| frame["params"].clone()).collect();
        assert!(notes.iter().any(|note| agents::approval(note)["state"] == "expired"));
        // A late answer changes nothing: the next turn is not affected.
        editor.send(&answer).await;
    }
}

#[tokio::test]
async fn every_client_gets_agent_commands_and_usage() {
    let offers = |_: &AgentRequest, host: &agents::Session, _: &CancellationToken| {
        let command =
            OfferedCommand { name: "init".to_owned(), description: "Sets up".to_owned(), hint: None };
        host.report(AgentPart::Commands(vec![command.clone()]));
        host.report(AgentPart::Commands(vec![command]));
        host.report(AgentPart::Usage(ContextUsage { used: 128, size: 1_000, cost: None }));
        agents::end(host, "Done.");
        RunState::Complete
    };
    let (test, _) = agents::test_bridge(vec![ScriptedAgent::new(CODEX, offers)]).await;
    let (mut window, mut editor) = (ours_client(&test, "Window").await, others_client(&test, "Editor").await);
    let session = session_in(&mut window, &test, CODEX).await;
    editor.request("_openagents/attach", json!({"sessionId": session})).await;
    window.request("session/prompt", prompt(&session, "go")).await;
    let mut late = others_client(&test, "Late").await;
    late.request("_openagents/attach", json!({"sessionId": session})).await;
    let meta = json!({"openagents": {"agent": CODEX}});
    for client in [&mut window, &mut editor, &mut late] {
        let mut states = Vec::new();
        while states.len() < 2 {
            let frame = match client.notes.pop_front() {
                Some(frame) => frame,
                None => client.frame().await,
            };
            let update = &frame["params"]["update"];
            if ["available_commands_update", "usage_update"]
                .iter()
                .any(|kind| update["sessionUpdate"] == *kind)
            {
                states.push(update.clone());
            }
        }
        let commands = json!({"sessionUpdate": "available_commands_update", "_meta": meta,
            "availableCommands": [{"name": "init", "description": "Sets up"}]});
        let usage = json!({"sessionUpdate": "usage_update", "used": 128, "size": 1_000, "_meta": meta});
        assert_eq!(states, [commands, usage], "once each, in order");
    }
    window.request("session/set_mode", json!({"sessionId": session, "modeId": "default_mode"})).await;
    let cleared = loop {
        let frame = editor.frame().await;
        if frame["params"]["update"]["sessionUpdate"] == "available_commands_update" {
            break frame["params"]["update"]["availableCommands"].clone();
        }
    };
    assert_eq!(cleared, json!([]), "another agent does not know them");
}

/// Regression: an "always" option for an agent's own actions was not offered, and neither was an option of a kind that
/// the protocol does not have.
#[tokio::test]
async fn every_agent_option_can_be_chosen() {
    let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: id.to_owned(), kind };
    let options = vec![
        option("never", OptionKind::RejectAlways),
        option("until noon", OptionKind::Other),
        option("this session", OptionKind::AllowAlways),
    ];
    let asks = move |_: &AgentRequest, host: &agents::Session, cancel: &CancellationToken| {
        agents::call(host, "1", "run");
        let command = Some(ApprovalCommand::reported("make"));
        let request =
            ApprovalRequest { command, options: options.clone(), ..agents::wants_to_edit("1", "a.rs") };
        let outcome = host.ask(request, cancel);
        agents::completed(host, "1");
        agents::end(host, &format!("{outcome:?}"));
        RunState::Complete
    };
    let (test, _) = agents::test_bridge(vec![ScriptedAgent::new(CODEX, asks)]).await;
    let (mut window, mut editor) = (ours_client(&test, "Window").await, others_client(&test, "Editor").await);
    for (chosen, kind) in
        [("never", "reject_always"), ("until noon", "allow_always"), ("this session", "allow_always")]
    {
        let session = session_in(&mut window, &test, CODEX).await;
        editor.request("_openagents/attach", json!({"sessionId": session})).await;
        window.notes.clear();
        let id = window.ask("session/prompt", prompt(&session, "go")).await;
        let approval = asked(&mut window).await;
        let kinds: Vec<_> =
            approval["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
        assert_eq!(kinds, ["reject_always", "other", "allow_always"]);
        let request = loop {
            let frame = editor.frame().await;
            if frame["method"] == "session/request_permission" && frame["id"] == approval["id"] {
                break frame;
            }
        };
        let offered = request["params"]["options"].as_array().unwrap();
        assert_eq!(offered.len(), 3);
        let option = offered.iter().find(|option| option["optionId"] == chosen).unwrap();
        assert_eq!(option["kind"], kind, "no client chooses it by itself");
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": chosen}});
        editor.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": outcome})).await;
        window.answer(id).await;
        assert!(
            window
                .notes
                .iter()
                .any(|note| note.to_string().contains(&format!("Selected {{ option_id: \\\"{chosen}\\\"")))
        );
    }
    // It does not become a rule of ours.
    assert_eq!(window.request("_openagents/approvals/rules", json!({})).await["rules"], json!([]));
}

#[tokio::test]
async fn cancelled_turn_withdraws_its_approval() {
    let (test, _) = agents::test_bridge(vec![asker()]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    let id = client.ask("session/prompt", prompt(&session, "a.rs")).await;
    let approval = asked(&mut client).await;
    client.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    let stands = client.request("_openagents/approvals/answer", answer(&session, &approval, "yes")).await;
    assert_eq!(stands["state"], "expired");
}

/// An agent ends its turn, normally or by a panic, while its question is open.
#[tokio::test]
async fn approval_ends_with_its_turn() {
    let agent = ScriptedAgent::new(CODEX, |request, host, _| {
        let (host, (asks, asked)) = (host.clone(), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            agents::call(&host, "c", "edit");
            asks.send(()).unwrap();
            host.ask(agents::wants_to_edit("c", "a.rs"), &CancellationToken::new())
        });
        asked.recv().unwrap();
        assert_ne!(request.text, "panic");
        RunState::Complete
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    // Repeated, so that the question comes before, during and after the end of its turn.
    for text in ["nothing", "panic", "nothing"].into_iter().cycle().take(30) {
        let id = client.ask("session/prompt", prompt(&session, text)).await;
        client.answer(id).await;
        let attached = client.request("_openagents/attach", json!({"sessionId": session})).await;
        assert_eq!(attached["approvals"], json!([]), "{text}");
    }
    assert!(client.notes.iter().any(|note| note.to_string().contains("the answer ended unexpectedly")));
}

#[tokio::test]
async fn app_sees_only_that_approval_is_pending() {
    let (test, _) = agents::test_bridge(vec![asker()]).await;
    let mut window = ours_client(&test, "Window").await;
    let mut phone = test.phone().await;
    let session = session_in(&mut window, &test, CODEX).await;
    phone.request("session/set_mode", json!({"session_id": session, "mode_id": "codex"})).await;
    let id = window.ask("session/prompt", prompt(&session, "secret.rs")).await;
    let approval = asked(&mut window).await;
    window.request("_openagents/approvals/answer", answer(&session, &approval, "no")).await;
    window.answer(id).await;
    let notes = phone.notes_until("told no").await;
    let text: Vec<String> = notes.iter().map(Value::to_string).collect();
    assert_eq!(text.iter().filter(|note| note.contains("Waiting for approval on ")).count(), 1);
    let asks = |note: &&String| note.contains("optionId") || note.contains("Edit secret.rs");
    assert_eq!(text.iter().find(asks), None);
}

/// A bridge that stops while an approval is pending, and restarts on the same data folder.
struct Restart {
    test: TestBridge,
    session: Value,
    approval: Value,
}

impl Restart {
    async fn new(killed: bool) -> Self {
        let (test, _) = agents::test_bridge(vec![asker()]).await;
        let mut client = ours_client(&test, "Before").await;
        let session = session_in(&mut client, &test, CODEX).await;
        client.ask("session/prompt", prompt(&session, "a.rs")).await;
        let approval = asked(&mut client).await;
        let TestBridge { mut home, workspace, bridge, _folders } = test;
        if killed {
            // The files that a killed process leaves behind.
            let left = tempfile::tempdir().unwrap();
            for file in std::fs::read_dir(home.path()).unwrap() {
                let file = file.unwrap();
                if file.file_name().to_string_lossy().starts_with("openagents.sqlite") {
                    std::fs::copy(file.path(), left.path().join(file.file_name())).unwrap();
                }
            }
            bridge.shutdown().await;
            home = left;
        } else {
            bridge.shutdown().await;
        }
        let agents = Arc::new(agents::ScriptedAgents { agents: vec![asker()], ..Default::default() });
        let bridge = agents::start_with(home.path(), &workspace, agents).await;
        Self { test: TestBridge { home, workspace, bridge, _folders }, session, approval }
    }
}

#[tokio::test]
async fn answer_after_restart_counts_once() {
    for killed in [false, true] {
        an_answer_counts_once(Restart::new(killed).await).await;
    }
}

async fn an_answer_counts_once(Restart { test, session, approval }: Restart) {
    let mut client = ours_client(&test, "After").await;
    let attached = client.request("_openagents/attach", json!({"sessionId": session})).await;
    assert_eq!(attached["approvals"], json!([]));
    let notes = client.notes_until("withdrawn").await;
    assert_eq!(agents::approval(notes.last().unwrap())["id"], approval["id"]);
    let stands = client.request("_openagents/approvals/answer", answer(&session, &approval, "yes")).await;
    assert_eq!((&stands["state"], &stands["by"]), (&json!("answered"), &json!("After")));
    assert_eq!(stands["unheard"], true);
    // The agent continues and asks for something else.
    let asks = asked_again(&mut client, &approval).await;
    assert_eq!(asks["title"], "Edit Continue.");
    client.request("_openagents/approvals/answer", answer(&session, &asks, "no")).await;
    client.notes_until("told no").await;

    // A different question is still asked.
    client.notes.clear();
    let id = client.ask("session/prompt", prompt(&session, "b.rs")).await;
    let other = asked(&mut client).await;
    assert_ne!(other["hash"], approval["hash"]);
    client.request("_openagents/approvals/answer", answer(&session, &other, "no")).await;
    client.answer(id).await;
    // The same question is answered automatically, and the log has the name of the client.
    client.notes.clear();
    client.request("session/prompt", prompt(&session, "a.rs")).await;
    let notes: Vec<Value> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    let approvals: Vec<&Value> = notes.iter().map(agents::approval).filter(|one| one.is_object()).collect();
    assert_eq!(approvals.len(), 1);
    assert_eq!(approvals[0]["hash"], approval["hash"]);
    assert_eq!(approvals[0]["by"], "After, before it was asked again");
    assert!(notes.iter().any(|note| note.to_string().contains("told yes")));
    // The answer applies only once.
    let id = client.ask("session/prompt", prompt(&session, "a.rs")).await;
    let again = asked(&mut client).await;
    client.request("_openagents/approvals/answer", answer(&session, &again, "no")).await;
    client.answer(id).await;
}

#[tokio::test]
async fn withdrawn_approval_can_be_resumed() {
    let Restart { test, session, approval } = Restart::new(true).await;
    let mut client = ours_client(&test, "After").await;
    client.request("_openagents/attach", json!({"sessionId": session})).await;
    let resume = json!({"sessionId": session, "approvalId": approval["id"]});
    assert_eq!(client.request("_openagents/approvals/resume", resume.clone()).await, json!({}));
    let again = asked_again(&mut client, &approval).await;
    assert_eq!(again["title"], "Edit Continue.");
    client.request("_openagents/approvals/answer", answer(&session, &again, "yes")).await;
    client.notes_until("told yes").await;
    rests(&mut client, &session).await;
    // Only a withdrawn approval can be resumed, and only once.
    for id in [&approval["id"], &again["id"]] {
        let resume = json!({"sessionId": session, "approvalId": id});
        let refused = client.error("_openagents/approvals/resume", resume).await;
        assert_eq!(refused.1, "There is nothing to resume.");
    }
}

/// Waits until a session is idle.
async fn rests(client: &mut support::Client, session: &Value) {
    while client.request("_openagents/attach", json!({"sessionId": session})).await["running"] == true {
        tokio::task::yield_now().await;
    }
}

async fn asked_again(client: &mut support::Client, before: &Value) -> Value {
    loop {
        let approval = asked(client).await;
        if approval["id"] != before["id"] {
            return approval;
        }
    }
}

/// A call with a question has a row that ends, even if it was never announced.
#[tokio::test]
async fn unannounced_call_gets_a_row() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let agent = ScriptedAgent::new(CODEX, move |_, host, cancel| {
        let request: ApprovalRequest = agents::wants_to_edit("never-announced", "a.rs");
        host.ask(request, cancel);
        counted.fetch_add(1, Ordering::SeqCst);
        RunState::Complete
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    let id = client.ask("session/prompt", prompt(&session, "go")).await;
    let approval = asked(&mut client).await;
    assert_eq!(approval["callId"], "never-announced");
    client.request("_openagents/approvals/answer", answer(&session, &approval, "yes")).await;
    client.answer(id).await;
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let statuses: Mutex<Vec<String>> = Mutex::default();
    let log = client.request("session/load", json!({"sessionId": session})).await;
    assert!(log["modes"].is_object());
    for frame in &client.notes {
        let update = &frame["params"]["update"];
        if update["toolCallId"] == "never-announced"
            && let Some(status) = update["status"].as_str()
        {
            statuses.lock().unwrap().push(status.to_owned());
        }
    }
    let statuses = statuses.into_inner().unwrap();
    assert_eq!(statuses.last().map(String::as_str), Some("failed"), "{statuses:?}");
}

/// An agent that asks which database to use, and says the answer.
fn questioner() -> Arc<ScriptedAgent> {
    ScriptedAgent::new(CODEX, |_, host, cancel| {
        let field = json!({"name": "db", "title": "Database", "required": true, "type": "choice",
            "choices": [{"value": "SQLite", "title": "SQLite"}]});
        let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: id.to_owned(), kind };
        let request = ApprovalRequest {
            subject: ApprovalSubject::Question,
            raw_input: Some(json!({"message": "Which?", "fields": [field]})),
            options: vec![option("accept", OptionKind::AllowOnce), option("decline", OptionKind::RejectOnce)],
            ..agents::wants_to_edit("1", "a.rs")
        };
        let answer = host.ask(request, cancel);
        agents::end(host, &format!("{answer:?}"));
        RunState::Complete
    })
}

#[tokio::test]
async fn question_is_answered_once_with_checked_answers() {
    let (test, _) = agents::test_bridge(vec![questioner()]).await;
    let (mut window, mut phone) = (ours_client(&test, "Window").await, ours_client(&test, "Phone").await);
    let mut editor = others_client(&test, "Editor").await;
    let session = session_in(&mut window, &test, CODEX).await;
    editor.request("_openagents/attach", json!({"sessionId": session})).await;
    let id = window.ask("session/prompt", prompt(&session, "Begin")).await;
    let asked = asked(&mut window).await;
    assert_eq!((&asked["subject"], &asked["rawInput"]["message"]), (&json!("question"), &json!("Which?")));
    let answer = |option: &str, content: Value| json!({"sessionId": session, "approvalId": asked["id"], "optionId": option, "content": content});
    for (content, why) in [
        (json!({}), "“Database” needs an answer."),
        (json!({"db": "MySQL"}), "“Database” does not accept that answer."),
    ] {
        let refused = phone.error("_openagents/approvals/answer", answer("accept", content)).await;
        assert_eq!(refused, (-32602, why.to_owned()));
    }
    let given = answer("accept", json!({"db": "SQLite", "more": 1}));
    let stands = phone.request("_openagents/approvals/answer", given).await;
    assert_eq!(stands["content"], json!({"db": "SQLite"}));
    let later = window.request("_openagents/approvals/answer", answer("decline", Value::Null)).await;
    assert_eq!(later, stands);
    window.answer(id).await;
    assert!(window.notes.iter().any(|note| note.to_string().contains("SQLite")));
    // A permission request has no form, so other editors only see that the call waits.
    editor.request("_openagents/attach", json!({"sessionId": session})).await;
    assert!(editor.notes.iter().all(|frame| frame["method"] != "session/request_permission"));
}

/// An agent that asks with a form and repeats the answer.
fn asks_with_form() -> Arc<ScriptedAgent> {
    ScriptedAgent::new(CODEX, |_, host, cancel| {
        let call_id = agents::uuid();
        agents::call(host, &call_id, "question");
        let fields = json!([{"name": "db", "title": "Database", "required": true, "type": "choice",
            "choices": [{"value": "SQLite", "title": "SQLite"}, {"value": "Postgres", "title": "Postgres"}]}]);
        let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: id.to_owned(), kind };
        let outcome = host.ask(
            ApprovalRequest {
                subject: ApprovalSubject::Question,
                call_id: call_id.clone(),
                agent: "Codex".to_owned(),
                title: "Which database?".to_owned(),
                raw_input: Some(json!({"message": "Which database?", "fields": fields})),
                command: None,
                cut: false,
                options: vec![
                    option("accept", OptionKind::AllowOnce),
                    option("decline", OptionKind::RejectOnce),
                ],
            },
            cancel,
        );
        agents::completed(host, &call_id);
        agents::end(host, &format!("{outcome:?}"));
        RunState::Complete
    })
}

#[tokio::test]
async fn editor_gets_a_question_as_a_form_if_it_can_show_one() {
    let (test, _) = agents::test_bridge(vec![asks_with_form()]).await;
    let mut window = ours_client(&test, "Window").await;
    let session = session_in(&mut window, &test, CODEX).await;
    let mut editor = test.acp().await;
    let can = json!({"elicitation": {"form": {}}});
    let params = json!({"protocolVersion": 1, "clientInfo": {"name": "Editor", "version": "1"}, "clientCapabilities": can});
    editor.request("initialize", params).await;
    let mut plain = others_client(&test, "Plain").await;
    for client in [&mut editor, &mut plain] {
        client.request("_openagents/attach", json!({"sessionId": session})).await;
    }
    for (answer, expected) in [
        (json!({"action": "accept", "content": {"db": "Postgres"}}), "\"accept\""),
        (json!({"action": "decline"}), "\"decline\""),
    ] {
        let id = window.ask("session/prompt", prompt(&session, "go")).await;
        let request = loop {
            let frame = editor.frame().await;
            assert_ne!(frame["method"], "session/request_permission");
            if frame["method"] == "elicitation/create" {
                break frame;
            }
        };
        let asked = &request["params"];
        assert_eq!((&asked["mode"], &asked["message"]), (&json!("form"), &json!("Which database?")));
        assert_eq!(asked["requestedSchema"]["properties"]["db"]["oneOf"][1]["const"], "Postgres");
        editor.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": answer})).await;
        window.answer(id).await;
        let text =
            shown(&window.notes.drain(..).map(|note| note["params"].clone()).collect::<Vec<_>>()).pop();
        let text = text.unwrap();
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.contains("Postgres"), expected == "\"accept\"", "{text}");
    }
    // An editor without forms shows the waiting call, and is asked for no permission.
    plain.request("session/list", json!({})).await;
    let is_request = |note: &Value| note["method"].is_string() && note.get("id").is_some();
    assert!(!plain.notes.iter().any(is_request), "{:?}", plain.notes);
    test.bridge.shutdown().await;
}
