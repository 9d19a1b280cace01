use super::*;
use crate::{
    shell::Environment,
    testing::{Settings, program},
};
use openagents_core::{
    agent::{AgentSettingsChange, AgentsSnapshot, CustomAgent},
    model::{Availability, SettingsStore as _},
};
use openagents_transcripts::history::{History, HistoryRoots, MemoryListingCache};
use std::{
    path::Path,
    sync::mpsc,
    time::{Duration, Instant},
};

const ANSWERS: &str = r#"case "$1" in --version) echo 1.2.3; exit;; esac
read request; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}'; cat"#;

fn agents_with(settings: Arc<Settings>) -> LocalAgents {
    let history = Arc::new(History::new(HistoryRoots::default(), Arc::new(MemoryListingCache::default())));
    let packages = std::env::temp_dir().join(format!("openagents-{}", uuid::Uuid::new_v4()));
    LocalAgents::new(
        AgentsConfig { settings, history, keeper: None, packages, own_tools: None, registry: None },
        |_| Found::from(Environment::default().with_path("/usr/bin:/bin")),
    )
}

fn agents() -> LocalAgents {
    agents_with(Arc::default())
}

fn custom(id: &str, program: &Path) -> CustomAgent {
    serde_json::from_value(serde_json::json!({"id": id, "kind": "acp", "command": program})).unwrap()
}

/// Waits for a check to end.
pub(super) fn settled(agents: &LocalAgents) -> AgentsSnapshot {
    let (sender, changes) = mpsc::channel();
    agents.watch(Arc::new(move || {
        let _ = sender.send(());
    }));
    let until = Instant::now() + Duration::from_secs(60);
    while agents.snapshot().checking {
        let left = until.saturating_duration_since(Instant::now());
        changes.recv_timeout(left).expect("the check has not ended");
    }
    agents.snapshot()
}

#[test]
fn providers_hide_missing_agents() {
    let agents = agents();
    agents.inner.check_all(Depth::Version);
    let snapshot = settled(&agents);
    let ids: Vec<_> = snapshot.agents.iter().map(|card| card.id.as_str()).collect();
    assert_eq!(ids, ["codex", "claude-code", "gemini", "copilot", "goose", "opencode", "qwen"]);
    assert!(snapshot.checked_at.is_some());
    assert_eq!(snapshot.path, "/usr/bin:/bin");
    let offered: Vec<_> = agents.providers().iter().map(|provider| provider.id().to_owned()).collect();
    assert_eq!(offered, ["codex", "claude-code"]);
    assert!(agents.provider("unknown").is_none());
    // A session that used another agent gets the reason.
    assert!(matches!(agents.provider("gemini").unwrap().availability(), Availability::Unavailable(_)));
    let Availability::Unavailable(reason) = agents.provider("codex").unwrap().availability() else {
        panic!("there is no Codex here")
    };
    assert!(reason.contains("openagents agents install codex"), "{reason}");
}

#[test]
fn added_agent_is_checked_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let settings: Arc<Settings> = Arc::default();
    let agents = agents_with(settings.clone());
    let agent = custom("mine", &program(folder.path(), "agent", ANSWERS));
    agents.command(AgentCommand::Add { agent: agent.clone() }).unwrap();
    let snapshot = settled(&agents);
    let card = snapshot.agents.last().unwrap();
    assert_eq!((card.id.as_str(), card.usable, card.custom), ("custom:mine", true, true));
    assert_eq!(card.supports, ["session/load"]);
    // Another program, or the next start, finds the agent.
    let again = agents_with(settings);
    assert_eq!(again.snapshot().settings.custom, std::slice::from_ref(&agent));
    assert!(again.provider("custom:mine").is_some());
    // Adding the agent again changes it.
    agents
        .command(AgentCommand::Add { agent: CustomAgent { name: Some("Mine".to_owned()), ..agent } })
        .unwrap();
    let snapshot = settled(&agents);
    assert_eq!(
        snapshot.agents.iter().filter(|card| card.custom).map(|card| &card.name).collect::<Vec<_>>(),
        ["Mine"]
    );
    agents.command(AgentCommand::Remove { id: "custom:mine".to_owned() }).unwrap();
    assert!(agents.provider("custom:mine").is_none());
    let gone = agents.command(AgentCommand::Remove { id: "mine".to_owned() });
    assert_eq!(gone, Err(AgentsError::Unknown("mine".to_owned())));
}

#[test]
fn invalid_agent_is_rejected_and_not_saved() {
    let settings: Arc<Settings> = Arc::default();
    let agents = agents_with(settings.clone());
    let refused = agents.command(AgentCommand::Add { agent: custom("Not An Id", Path::new("agent")) });
    assert!(matches!(&refused, Err(AgentsError::Refused(why)) if why.contains("Not An Id")), "{refused:?}");
    assert_eq!(settings.get("agents"), Ok(None));
    for at in 0..50 {
        agents
            .command(AgentCommand::Add { agent: custom(&format!("a{at}"), Path::new("/no/agent")) })
            .unwrap();
    }
    let refused = agents.command(AgentCommand::Add { agent: custom("one-more", Path::new("/no/agent")) });
    assert!(matches!(refused, Err(AgentsError::Refused(why)) if why.contains("remove one first")));
    settled(&agents);
}

#[test]
fn configure_changes_one_setting_only() {
    let agents = agents();
    let change = AgentSettingsChange { choose: Some(false), ..Default::default() };
    agents.command(AgentCommand::Configure { settings: change }).unwrap();
    let change = AgentSettingsChange { allow_external_llms: Some(true), ..Default::default() };
    agents.command(AgentCommand::Configure { settings: change }).unwrap();
    let settings = agents.snapshot().settings;
    assert_eq!((settings.choose, settings.allow_external_llms), (false, true));
}

#[test]
fn watchers_see_progress_and_end_of_check() {
    let agents = agents();
    let (sender, changes) = mpsc::channel();
    let watched = agents.clone();
    agents.watch(Arc::new(move || {
        let _ = sender.send(watched.snapshot());
    }));
    agents.command(AgentCommand::Check).unwrap();
    let ended = |snapshot: &AgentsSnapshot| !snapshot.checking && snapshot.checked_at.is_some();
    let output: Vec<_> = changes.iter().take_while(|snapshot| !ended(snapshot)).collect();
    assert!(output.iter().any(|snapshot| snapshot.checking && snapshot.path.is_empty()));
    assert!(output.iter().any(|snapshot| snapshot.checking && !snapshot.path.is_empty()));
    assert!(output.last().unwrap().agents.iter().all(|card| card.problem.is_some()));
}

#[test]
fn shut_down_ends_running_check() {
    let folder = tempfile::tempdir().unwrap();
    let agents = agents();
    let silent = program(folder.path(), "silent", "echo $$ > \"$0.id\"; exec sleep 1000");
    agents.command(AgentCommand::Add { agent: custom("silent", &silent) }).unwrap();
    let started = Instant::now();
    let id = loop {
        match std::fs::read_to_string(folder.path().join("silent.id")) {
            Ok(id) if id.ends_with('\n') => break id.trim().to_owned(),
            _ => assert!(started.elapsed() < Duration::from_secs(60)),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    agents.shut_down();
    assert!(!agents.snapshot().checking);
    assert!(!Path::new(&format!("/proc/{id}")).exists() || cfg!(not(target_os = "linux")));
    assert!(matches!(agents.command(AgentCommand::Check), Err(AgentsError::Refused(_))));
}

#[test]
fn missing_agent_is_known_before_any_check() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "claude", "exit 0");
    let agents = agents();
    agents.inner.mark_missing(&Arc::new(Environment::default().with_path(folder.path())));
    assert_eq!(agents.snapshot().checked_at, None);
    let Availability::Unavailable(reason) = agents.provider("codex").unwrap().availability() else {
        panic!("there is no Codex here")
    };
    assert!(reason.contains("is not installed"), "{reason}");
    // Any further check takes a process, which a prompt waits for.
    assert_eq!(agents.provider("claude-code").unwrap().availability(), Availability::Ready);
}

#[test]
fn added_model_is_usable_before_any_check() {
    let model =
        serde_json::json!({"id": "m", "kind": "openai", "baseUrl": "http://[::1]:1/v1", "model": "m"});
    let settings = Settings::with("agents", serde_json::json!({"custom": [model]}));
    let agents = agents_with(Arc::new(settings));
    assert!(agents.provider("custom:m").unwrap().model().is_some());
}

#[test]
fn check_keeps_providers_started_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let agents = agents();
    let agent = program(folder.path(), "agent", ANSWERS);
    agents.command(AgentCommand::Add { agent: custom("mine", &agent) }).unwrap();
    settled(&agents);
    let found = |variables: &[(&str, &str)]| {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let environment: Arc<Environment> = Arc::new(variables.collect());
        let entry = agents.inner.table.lock().entry("custom:mine").unwrap().subject.clone();
        let cancel = CancellationToken::new();
        let packages = &agents.inner.packages;
        let diagnosis =
            crate::doctor::Doctor { environment: &environment, packages, cancel: &cancel }.locate(&entry);
        agents.inner.change(|table| table.found(&entry, diagnosis, &environment));
        agents.inner.table.lock().running("custom:mine")
    };
    let first = found(&[("PATH", "/bin"), ("STARSHIP_SESSION_KEY", "1")]);
    let second = found(&[("PATH", "/bin"), ("STARSHIP_SESSION_KEY", "2")]);
    assert!(first.len() == 1 && second.len() == 1 && Arc::ptr_eq(&first[0], &second[0]));
    drop(second);
    // A running turn continues and learns that its session is closed.
    let third = found(&[("PATH", "/usr/bin")]);
    assert!(third.len() == 2 && Arc::ptr_eq(&first[0], &third[0]));
    drop((first, third));
    agents.inner.drop_idle();
    assert_eq!(agents.inner.table.lock().running("custom:mine").len(), 1);
}

#[test]
fn snapshot_hides_values_and_settings_keep_them() {
    let settings: Arc<Settings> = Arc::default();
    let agents = agents_with(settings.clone());
    let folder = tempfile::tempdir().unwrap();
    let command = program(folder.path(), "agent", ANSWERS);
    let agent = serde_json::json!({"id": "a", "kind": "acp", "command": command, "env": {"MY_KEY": "hush"}});
    agents.command(AgentCommand::Add { agent: serde_json::from_value(agent).unwrap() }).unwrap();
    let shown = settled(&agents);
    let json = serde_json::to_string(&shown).unwrap();
    assert!(json.contains("MY_KEY") && !json.contains("hush"), "{json}");
    // A client that changes the name sends back the placeholders.
    let changed = CustomAgent { name: Some("A".to_owned()), ..shown.settings.custom[0].clone() };
    agents.command(AgentCommand::Add { agent: changed }).unwrap();
    settled(&agents);
    let kept = settings.get("agents").unwrap().unwrap();
    assert_eq!(
        (&kept["custom"][0]["name"], &kept["custom"][0]["env"]["MY_KEY"]),
        (&"A".into(), &"hush".into())
    );
}
