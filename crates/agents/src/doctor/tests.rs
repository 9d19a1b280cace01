use super::*;
use crate::{known::KNOWN, testing::program};
use openagents_core::agent::AgentCard;
use std::fs;

const ANSWERS: &str = r#"read request; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"x","version":"1"},"agentCapabilities":{"loadSession":true,"_meta":{"authStatus":{}}}}}'; echo '{"method":"_auth/status_update","params":{"authStatus":{"kind":"KIND"}}}'; cat"#;

struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn with(self, name: &str, script: &str) -> Self {
        program(self.folder.path(), name, script);
        self
    }

    fn examine(&self, subject: &Subject) -> Diagnosis {
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        // Hides the npm and Node of this machine.
        let environment = Environment::default().with_path(if self.folder.path().join("npm").exists() {
            path
        } else {
            self.folder.path().display().to_string()
        });
        let packages = Packages::new(self.folder.path().join("agents"));
        let doctor =
            Doctor { environment: &environment, packages: &packages, cancel: &CancellationToken::new() };
        let mut diagnosis = doctor.locate(subject);
        doctor.ask_version(subject, &mut diagnosis);
        doctor.introduce(subject, &mut diagnosis);
        diagnosis
    }
}

fn known(id: &str) -> Subject {
    Subject::Known(KNOWN.iter().find(|known| known.id == id).unwrap())
}

fn custom(json: &str) -> Subject {
    Subject::Custom(serde_json::from_str(json).unwrap())
}

/// Test programs use absolute paths only.
fn agent(kind: &str) -> String {
    format!(
        "PATH=/usr/bin:/bin\ncase \"$1\" in --version) echo tool 1.2.3; exit;; esac\n{}",
        ANSWERS.replace("KIND", kind)
    )
}

#[test]
fn codex_card_covers_every_state() {
    let version = "echo codex-cli 0.169.0";
    let dies = "echo no such model >&2; exit 2";
    let rows = [
        (
            Machine::new(),
            "unusable, -: The agent Codex is not installed. Install it in Settings → Agents, or run `openagents agents install codex`.",
        ),
        (
            Machine::new().with("codex", version),
            "unusable, - 0.169.0: Codex is installed, but the program codex-acp, which connects it, is not. Install it in Settings → Agents, or run `openagents agents install codex`.",
        ),
        (Machine::new().with("codex-acp", &agent("key")), "usable, acp: "),
        (Machine::new().with("codex", version).with("codex-acp", &agent("key")), "usable, acp 0.169.0: "),
        (
            Machine::new().with("codex", version).with("codex-acp", &agent("none")),
            "usable, acp 0.169.0: The agent Codex says that it is not logged in. Choose Log in in Settings → Agents, or run `codex login` in a terminal, unless it has a key of its own.",
        ),
        (
            Machine::new().with("codex", version).with("codex-acp", dies),
            "unusable, - 0.169.0: The program codex-acp does not speak ACP: it ended (exit code 2) before it answered initialize: no such model. Install it in Settings → Agents, or run `openagents agents install codex`.",
        ),
        (
            Machine::new().with("codex-acp", dies),
            "unusable, -: The program codex-acp does not speak ACP: it ended (exit code 2) before it answered initialize: no such model. Install it in Settings → Agents, or run `openagents agents install codex`.",
        ),
    ];
    for (machine, expected) in rows {
        let card = machine.examine(&known("codex")).card;
        assert_eq!(summary(&card), expected);
    }
}

fn summary(card: &AgentCard) -> String {
    let usable = if card.usable { "usable" } else { "unusable" };
    let transport = card.transport.as_deref().unwrap_or("-");
    let version = card.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let reply = [&card.problem, &card.remedy].map(|reply| reply.clone().unwrap_or_default());
    format!("{usable}, {transport}{version}: {}", reply.join(" ").trim())
}

#[test]
fn native_agent_reports_capabilities() {
    let machine = Machine::new().with("gemini", &agent("key"));
    let diagnosis = machine.examine(&known("gemini"));
    let card = &diagnosis.card;
    assert_eq!(summary(card), "usable, acp 1.2.3: ");
    assert_eq!(
        (card.introduces_itself.as_deref(), &card.supports[..]),
        (Some("x 1"), &["session/load".to_owned()][..])
    );
    assert_eq!(diagnosis.availability(), Availability::Ready);
}

#[test]
fn failed_version_is_ignored_if_agent_answers() {
    let broken = Machine::new().with("goose", "echo 'no libfoo' >&2; exit 127").examine(&known("goose"));
    assert!(!broken.card.usable);
    assert!(broken.card.problem.unwrap().contains("no libfoo"));
    let answers = ANSWERS.replace("KIND", "key");
    let odd = format!("PATH=/usr/bin:/bin\ncase \"$1\" in --version) exit 1;; esac\n{answers}");
    assert_eq!(summary(&Machine::new().with("goose", &odd).examine(&known("goose")).card), "usable, acp: ");
}

#[test]
fn adapter_with_old_node_is_not_started() {
    let machine = Machine::new().with("claude", "echo '2.1.330 (Claude Code)'").with("node", "echo v20.20.2");
    let adapter = machine.folder.path();
    program(adapter, "claude-agent-acp", "#!/usr/bin/env node\n");
    fs::write(
        adapter.join("package.json"),
        r#"{"name":"@agentclientprotocol/claude-agent-acp","version":"0.100.0","engines":{"node":">=22"}}"#,
    )
    .unwrap();
    let card = machine.examine(&known("claude-code")).card;
    assert_eq!(card.adapter.as_deref(), Some("@agentclientprotocol/claude-agent-acp 0.100.0"));
    assert_eq!(
        summary(&card),
        "unusable, - 2.1.330: The program claude-agent-acp needs Node 22.0.0, but Node 20.20.2 is installed. Install it in Settings → Agents, or run `openagents agents install claude-code`: that brings its own Node."
    );
}

#[test]
fn adapter_is_found_in_npm_folder() {
    let machine = Machine::new();
    let folder = machine.folder.path().display().to_string();
    let machine = machine
        .with("codex", "echo 1.2.3")
        .with("npm", &format!("echo {folder}/global"))
        .with("global/bin/codex-acp", &agent("key"));
    assert_eq!(summary(&machine.examine(&known("codex")).card), "usable, acp 1.2.3: ");
}

#[test]
fn custom_agents_report_missing_parts() {
    let machine = Machine::new().with("mine", &agent("none"));
    let here = machine.folder.path().join("mine");
    let rows = [
        (
            r#"{"id":"a","kind":"acp","command":"mine"}"#.to_owned(),
            "usable, acp: The agent a says that it is not logged in. Log in with its own program, unless it has a key of its own.",
        ),
        (
            format!(r#"{{"id":"a","kind":"acp","command":{here:?},"cwd":"/"}}"#),
            "usable, acp: The agent a says that it is not logged in. Log in with its own program, unless it has a key of its own.",
        ),
        (
            r#"{"id":"a","kind":"acp","command":"other"}"#.to_owned(),
            "unusable, -: The program other is not in the PATH. Install it, or add the agent again with the absolute path of its program.",
        ),
        (
            r#"{"id":"a","kind":"acp","command":"/no/agent"}"#.to_owned(),
            "unusable, -: The program /no/agent does not exist or is not executable. Install it, or add the agent again with another command.",
        ),
        (
            r#"{"id":"A","kind":"acp","command":"mine"}"#.to_owned(),
            "unusable, -: The id \"A\" is invalid; use 1 to 64 of a-z, 0-9, - _ and .. Add it again.",
        ),
        (
            r#"{"id":"a","kind":"openai","baseUrl":"http://localhost:1/v1","model":"m"}"#.to_owned(),
            "usable, openai: ",
        ),
        (
            r#"{"id":"a","kind":"openai","baseUrl":"https://x.y/v1","model":"m","keyVariable":"K"}"#
                .to_owned(),
            "unusable, -: The server at https://x.y needs a key; set K to its key. Check again after that.",
        ),
    ];
    for (agent, expected) in rows {
        assert_eq!(summary(&machine.examine(&custom(&agent)).card), expected, "{agent}");
    }
}
