//! `openagents agent` with models that call tools: a scripted OpenAI-compatible server, and a scripted gpt-oss in the
//! real engine.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{
    agent_turn::{LIST, agent, calls, env, turn},
    gptoss::{self, Script},
    openai::{Server, THOUGHT, scripted},
    terminal::json_lines,
};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const READ: &str = "read the README.md file";

#[test]
fn remote_model_calls_tools_of_dogfood_commands() -> Result<()> {
    let rows = [
        (LIST, "fs.list_dir", json!({"path": "."}), "README.md"),
        (READ, "content.get_span", json!({"path": "README.md"}), "Proj counts tides."),
    ];
    for (prompt, tool, arguments, found) in rows {
        let (env, server) = (env()?, scripted()?);
        let (updates, last) = turn(agent(&env, &server.base_url(), prompt, &["--json"])?)?;
        let called = calls(&updates);
        ensure!(called.len() == 1, "{called:?}");
        assert_eq!(
            (called[0].0.as_str(), &called[0].1, called[0].2.as_str()),
            (tool, &arguments, "completed")
        );
        assert!(called[0].3.to_string().contains(found), "{called:?}");
        assert_eq!(last["status"], "complete");
        assert!(
            last["message"].as_str().is_some_and(|response| response.starts_with("The tool said: ")),
            "{last}"
        );
        assert_eq!(last["usage"]["promptTokens"], 21);
        // The second request has the call and its result.
        let asked = server.asked();
        let messages = asked[1].body["messages"].as_array().context("messages")?;
        assert!(messages.iter().any(|message| message["role"] == "tool"), "{messages:?}");
        // The model's reasoning is in the request, and nowhere else.
        assert!(messages.iter().any(|message| message["reasoning_content"] == THOUGHT));
        let log = serde_json::to_string(&updates)? + &last.to_string();
        assert!(!log.contains(THOUGHT));
        let session = last["session_id"].as_str().context("a session id")?;
        let store = openagents_bridge::open_store(&env.folder("home"))?;
        let rows = store.updates_after(session, 0, 1_000)?;
        let stored = serde_json::to_string(&rows.iter().map(|row| &row.update).collect::<Vec<_>>())?;
        assert!(stored.contains(tool) && !stored.contains(THOUGHT), "{stored}");
    }
    Ok(())
}

#[test]
fn gpt_oss_calls_tools_of_dogfood_commands() -> Result<()> {
    let rows = [
        (LIST, Script::explorer(), "fs.list_dir", "README.md"),
        (READ, Script::reader(), "content.get_span", "Proj counts tides."),
    ];
    for (prompt, script, tool, found) in rows {
        let env = env()?;
        let model = env.folder("scripted.gguf");
        gptoss::write_model(&model, &script)?;
        let mut command = env.openagents(&["agent", prompt, "--model", "gptoss", "--json"])?;
        command.env("OPENAGENTS_LLAMA_MODEL", &model).env("OPENAGENTS_LLAMA_CONTEXT", "4096");
        let (updates, last) = turn(command)?;
        let called = calls(&updates);
        ensure!(called.len() == 1, "{called:?} {last}");
        assert_eq!((called[0].0.as_str(), called[0].2.as_str()), (tool, "completed"));
        assert!(called[0].3.to_string().contains(found), "{called:?}");
        assert_eq!(last["message"], script.answer);
    }
    Ok(())
}

/// The error goes back to the model, and the turn continues.
#[test]
fn model_mends_an_invalid_call() -> Result<()> {
    let rows = [
        ("call fs.list_dir {\"path\": ", "Invalid parameters: the arguments are "),
        ("call fs.list_dir [1]", "Invalid parameters: the arguments are "),
        ("call fs.list_dir {\"path\": 7}", "path"),
        ("call fs.list_dir {\"path\": \"../..\"}", "workspace"),
        ("call content.get_span {}", "path"),
    ];
    let server = scripted()?;
    for (prompt, expected) in rows {
        let (updates, last) = turn(agent(&env()?, &server.base_url(), prompt, &["--json"])?)?;
        let called = calls(&updates);
        ensure!(called.len() == 1 && called[0].2 == "failed", "{prompt}: {called:?}");
        assert_eq!(last["status"], "complete", "{prompt}");
        let response = last["message"].as_str().unwrap_or_default();
        assert!(
            response.starts_with("The tool said: ") && response.contains(expected),
            "{prompt}: {response}"
        );
    }
    Ok(())
}

#[test]
fn every_call_of_an_answer_runs() -> Result<()> {
    let server = scripted()?;
    let prompt = "call fs.list_dir {\"path\":\"src\"}\ncall content.get_span {\"path\":\"README.md\"}";
    let (updates, last) = turn(agent(&env()?, &server.base_url(), prompt, &["--json"])?)?;
    let called = calls(&updates);
    let names: Vec<_> = called.iter().map(|(name, _, status, _)| (name.as_str(), status.as_str())).collect();
    assert_eq!(names, [("fs.list_dir", "completed"), ("content.get_span", "completed")]);
    assert_eq!(last["status"], "complete");
    let asked = server.asked();
    let messages = asked[1].body["messages"].as_array().context("messages")?;
    let ids: Vec<_> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["call_0_0", "call_0_1"]);
    Ok(())
}

#[test]
fn api_key_goes_to_the_server_only() -> Result<()> {
    const KEY: &str = "sk-proj-0123456789";
    let (env, server) = (env()?, scripted()?);
    // The bridge has the key and sends it, so the bridge's log is the one to check.
    let log = env.folder("bridge.log");
    let mut serve = env.openagents(&["serve", "--port", "0", "--json"])?;
    serve.env("MY_KEY", KEY).env("RUST_LOG", "trace").stderr(std::fs::File::create(&log)?);
    let _bridge = openagents_e2e::server::Server::start(serve)?;
    let mut command = agent(&env, &server.base_url(), LIST, &["--json", "--key-variable", "MY_KEY"])?;
    let output = command.env("MY_KEY", KEY).env("RUST_LOG", "trace").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let logged = std::fs::read_to_string(&log)?;
    assert!(logged.contains("TRACE"), "the log of the bridge is off");
    assert!(!logged.contains(KEY), "the key is in the log of the bridge");
    let bearer = format!("Bearer {KEY}");
    assert!(server.asked().iter().all(|request| request.header("authorization") == Some(&bearer)));
    let shown = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
    assert!(shown.contains("TRACE"), "the log is off: {shown}");
    assert!(!shown.contains(KEY));
    for file in std::fs::read_dir(env.folder("home"))? {
        let path = file?.path();
        if path.is_file() {
            let bytes = std::fs::read(&path)?;
            assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{}", path.display());
        }
    }
    Ok(())
}

#[test]
fn openai_key_is_not_sent_to_loopback() -> Result<()> {
    let (env, server) = (env()?, scripted()?);
    let mut command = agent(&env, &server.base_url(), "hello", &["--json"])?;
    command.env("OPENAI_API_KEY", "sk-proj-0123456789");
    assert_eq!(turn(command)?.1["status"], "complete");
    assert_eq!(server.asked()[0].header("authorization"), None);
    Ok(())
}

/// Each error is one sentence that names the server and the remedy.
#[test]
fn ask_errors_are_one_sentence() -> Result<()> {
    let env = env()?;
    let refusing = |status: u16| {
        Server::start(move |_, reply| reply.json(status, &json!({"error": {"message": "No such thing."}})))
    };
    let (unauthorised, unknown) = (refusing(401)?, refusing(404)?);
    let gone = scripted()?.base_url();
    let rows = [
        (gone.as_str(), "start it, or check the base URL"),
        (&unauthorised.base_url(), "asks for a key (401); name the variable that holds its key"),
        (&unknown.base_url(), "does not know scripted: No such thing (404); check the name of the model"),
    ];
    for (server, expected) in rows {
        let output = agent(&env, server, "hello", &[])?.output()?;
        let shown = String::from_utf8(output.stderr)?;
        let origin = server.trim_end_matches("/v1");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{shown}");
        assert!(shown.contains(expected) && shown.contains(origin) && shown.lines().count() == 1, "{shown}");
    }
    let mut command = env.openagents(&["agent", "hello", "--model", "openai:gpt-5"])?;
    let shown = String::from_utf8(command.env_remove("OPENAI_API_KEY").output()?.stderr)?;
    assert!(shown.contains("OpenAI at https://api.openai.com needs a key; set OPENAI_API_KEY"), "{shown}");
    Ok(())
}

/// A server on this machine is never reached through a proxy; any other server is, and in clear text without the key.
#[test]
fn proxy_is_not_used_for_loopback() -> Result<()> {
    let (env, server, proxy) = (env()?, scripted()?, scripted()?);
    let origin = proxy.base_url().trim_end_matches("/v1").to_owned();
    let through = |base_url: &str| -> Result<Value> {
        let mut command = agent(&env, base_url, "hello", &["--json"])?;
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, &origin);
        }
        command.env("OPENAI_API_KEY", "sk-proj-0123456789").env_remove("no_proxy").env_remove("NO_PROXY");
        Ok(turn(command)?.1)
    };
    assert_eq!(through(&server.base_url())?["status"], "complete");
    assert_eq!((server.asked().len(), proxy.asked().len()), (1, 0));
    assert_eq!(through("http://models.example/v1")?["status"], "complete");
    let asked = proxy.asked();
    assert!(
        asked[0].head.starts_with("POST http://models.example/v1/chat/completions "),
        "{}",
        asked[0].head
    );
    assert_eq!(asked[0].header("authorization"), None);
    // A tunnel is encrypted, so the key may be sent inside it; this proxy cannot create one.
    assert_eq!(through("https://models.example/v1")?["status"], "failed");
    let asked = proxy.asked();
    assert!(asked[1].head.starts_with("CONNECT models.example:443 "), "{}", asked[1].head);
    assert!(!asked[1].head.contains("sk-proj"), "{}", asked[1].head);
    Ok(())
}

#[test]
fn ask_names_bad_usage() -> Result<()> {
    let env = env()?;
    let rows: [(&[&str], &str); 5] = [
        (&["--base-url", "http://127.0.0.1:1/v1"], "--base-url is for --model openai:NAME"),
        (&["--model", "gptoss", "--base-url", "http://127.0.0.1:1"], "--base-url is for --model openai:NAME"),
        (&["--model", "openai:"], "no model is named"),
        (&["--model", "openai:m", "--base-url", "127.0.0.1:8080"], "write it like http://127.0.0.1:8080/v1"),
        (&["--model", "openai:m", "--base-url", "http://a:b@c/v1"], "name the variable that holds the key"),
    ];
    for (arguments, expected) in rows {
        let output = env.run(&[&["agent", "hello"], arguments].concat())?;
        let shown = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(shown.contains(expected) && !shown.contains("a:b"), "{shown}");
    }
    Ok(())
}

#[test]
fn ctrl_c_stops_an_endless_answer() -> Result<()> {
    let (env, server) = (env()?, scripted()?);
    let mut command = agent(&env, &server.base_url(), "please loop", &["--json"])?;
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut output = std::io::BufReader::new(child.stdout.take().context("its output")?);
    let mut line = String::new();
    while !line.contains("tick") {
        line.clear();
        ensure!(std::io::BufRead::read_line(&mut output, &mut line)? > 0, "it ended by itself");
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut output, &mut rest)?;
    assert_eq!(child.wait()?.code(), Some(130));
    let last = json_lines(&rest)?.pop().context("the end")?;
    assert_eq!(last["final"]["status"], "cancelled");
    Ok(())
}
