//! Installations with the real npm, from a registry that runs in the test.

use super::{tests::settled, *};
use crate::{
    shell::{Environment, Found},
    testing::{Settings, program},
};
use openagents_core::agent::{AgentCard, AgentPackage, AgentsError};
use openagents_transcripts::history::{History, HistoryRoots, MemoryListingCache};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::{OnceLock, mpsc},
    time::Duration,
};

/// A tarball address at which nothing is ever sent.
const SILENT: &str = "/silent.tgz";

/// The ACP registry and npm's registry in one.
#[derive(Default)]
struct Registry {
    answers: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Connections that are kept open.
    kept: Mutex<Vec<TcpStream>>,
}

fn registry() -> &'static (Registry, String) {
    static REGISTRY: OnceLock<(Registry, String)> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || registry().0.answer(stream));
            }
        });
        (Registry::default(), address)
    })
}

impl Registry {
    fn answer(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        let path = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())).unwrap_or_default();
        lines.find(String::is_empty);
        if path == SILENT {
            return self.kept.lock().push(stream);
        }
        let body = self.answers.lock().get(&path).cloned();
        let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
        let body = body.unwrap_or_else(|| b"{}".to_vec());
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
    }

    fn put(&self, path: &str, body: impl Into<Vec<u8>>) {
        self.answers.lock().insert(path.to_owned(), body.into());
    }
}

/// A package on npm, and its versions with their programs.
struct Published<'a> {
    name: &'a str,
    versions: Vec<(&'a str, &'a str)>,
    /// Changes the description of a version in the registry.
    with: Value,
}

impl Published<'_> {
    fn publish(self) {
        let (registry, address) = registry();
        let mut versions = serde_json::Map::new();
        for (version, script) in self.versions {
            let folder = tempfile::tempdir().unwrap();
            program(folder.path(), "bin/node", script);
            let mut description = json!({"name": self.name, "version": version, "bin": {"gemini": "bin/node"},
                "scripts": {"postinstall": "touch ran"}});
            description.as_object_mut().unwrap().extend(self.with.as_object().unwrap().clone());
            fs::write(folder.path().join("package.json"), description.to_string()).unwrap();
            let packed = Command::new("npm")
                .args(["pack", "--json", "--ignore-scripts"])
                .current_dir(&folder)
                .output()
                .unwrap();
            let packed: Value = serde_json::from_slice(&packed.stdout).unwrap();
            let packed = packed.get(0).or_else(|| packed.get(self.name)).unwrap();
            let file = packed["filename"].as_str().unwrap();
            registry.put(&format!("/{file}"), fs::read(folder.path().join(file)).unwrap());
            description["dist"] =
                json!({"tarball": format!("{address}/{file}"), "integrity": packed["integrity"]});
            description.as_object_mut().unwrap().extend(self.with.as_object().unwrap().clone());
            versions.insert(version.to_owned(), description);
        }
        let latest = versions.keys().next_back().cloned();
        let packument = json!({"name": self.name, "dist-tags": {"latest": latest}, "versions": versions});
        registry.put(&format!("/{}", self.name), packument.to_string());
    }
}

/// A program that speaks ACP.
const SPEAKS: &str = r#"read request; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"x","version":"VERSION"},"agentCapabilities":{}}}'; cat"#;

/// The agents of a machine whose registry offers `package` as Gemini CLI.
fn agents(folder: &Path, package: &str) -> LocalAgents {
    let list = format!("{}/{}.json", registry().1, folder.file_name().unwrap().to_string_lossy());
    offer(folder, package);
    let history = Arc::new(History::new(HistoryRoots::default(), Arc::new(MemoryListingCache::default())));
    let config = AgentsConfig {
        settings: Arc::new(Settings::default()),
        history,
        keeper: None,
        packages: folder.join("agents"),
        own_tools: None,
        registry: Some(list),
    };
    let agents = LocalAgents::new(config, |_| {
        let home = std::env::temp_dir().join("openagents-npm-home");
        let path = std::env::var("PATH").unwrap();
        let variables = [
            ("PATH", path.as_str()),
            ("HOME", home.to_str().unwrap()),
            ("npm_config_registry", registry().1.as_str()),
            ("npm_config_cache", home.to_str().unwrap()),
        ];
        Found::from(
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect::<Environment>(),
        )
    });
    agents.inner.check_all(Depth::Version);
    settled(&agents);
    update_list(&agents);
    agents
}

fn offer(folder: &Path, package: &str) {
    let list = format!("/{}.json", folder.file_name().unwrap().to_string_lossy());
    let entry = json!({"id": "gemini", "authors": ["G"], "license": "MIT", "distribution": {"npx": {"package": package}}});
    registry().0.put(&list, json!({"version": "1.0.0", "agents": [entry]}).to_string());
}

/// Waits until a snapshot is as expected.
fn wait(agents: &LocalAgents, is_expected: impl Fn(&AgentCard, bool) -> bool) -> AgentCard {
    let (sender, changes) = mpsc::channel();
    agents.watch(Arc::new(move || {
        let _ = sender.send(());
    }));
    loop {
        let snapshot = agents.snapshot();
        let card = snapshot.agents.into_iter().find(|card| card.id == "gemini").unwrap();
        if is_expected(&card, snapshot.packages.fetching) {
            return card;
        }
        changes.recv_timeout(Duration::from_secs(120)).unwrap_or_else(|_| panic!("{card:?}"));
    }
}

fn update_list(agents: &LocalAgents) {
    agents.command(AgentCommand::CheckForUpdates).unwrap();
    wait(agents, |_, fetching| !fetching);
    assert_eq!(agents.snapshot().packages.problem, None);
}

fn begin(agents: &LocalAgents, package: &str) -> Result<(), AgentsError> {
    agents.command(AgentCommand::Install { id: "gemini".to_owned(), package: package.to_owned() })
}

/// Installs to the end, including the check that follows.
fn install(agents: &LocalAgents, package: &str) -> AgentCard {
    begin(agents, package).unwrap();
    wait(agents, |card, _| card.package.as_ref().unwrap().progress.is_none());
    settled(agents);
    wait(agents, |_, _| true)
}

fn package(card: &AgentCard) -> &AgentPackage {
    card.package.as_ref().unwrap()
}

/// The folders of an agent's versions.
fn folders(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("agents/gemini")).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn agent_is_installed_updated_rolled_back_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["1.0.0", "1.1.0"].map(|version| SPEAKS.replace("VERSION", version));
    Published { name: "good", versions: vec![("1.0.0", &old), ("1.1.0", &new)], with: json!({}) }.publish();
    let agents = agents(folder.path(), "good@1.0.0");
    let offered = package(&wait(&agents, |_, _| true)).offer.clone().unwrap();
    assert_eq!(
        (offered.package.as_str(), offered.publisher.as_str(), offered.license.as_str()),
        ("good@1.0.0", "G", "MIT")
    );
    // The user has seen another version.
    let refused = begin(&agents, "good@1.1.0").unwrap_err().to_string();
    assert!(refused.contains("good@1.1.0 is not on offer"), "{refused}");
    assert_eq!(folders(folder.path()), Vec::<String>::new());

    let card = install(&agents, "good@1.0.0");
    assert_eq!((card.usable, card.introduces_itself.as_deref()), (true, Some("x 1.0.0")), "{card:?}");
    assert_eq!((package(&card).installed.as_deref(), &package(&card).offer), (Some("1.0.0"), &None));
    assert!(card.program.unwrap().starts_with(folder.path().join("agents/gemini/1.0.0")));
    assert!(!folder.path().join("agents/gemini/1.0.0/node_modules/good/ran").exists(), "a script ran");

    offer(folder.path(), "good@1.1.0");
    update_list(&agents);
    let card = install(&agents, "good@1.1.0");
    assert_eq!(card.introduces_itself.as_deref(), Some("x 1.1.0"));
    assert_eq!(
        (package(&card).previous.as_deref(), folders(folder.path())),
        (Some("1.0.0"), vec!["1.0.0".to_owned(), "1.1.0".to_owned()])
    );

    agents.command(AgentCommand::RollBack { id: "gemini".to_owned() }).unwrap();
    settled(&agents);
    let card = wait(&agents, |card, _| card.introduces_itself.as_deref() == Some("x 1.0.0"));
    assert_eq!(package(&card).offer.as_ref().unwrap().version, "1.1.0");

    agents.command(AgentCommand::Uninstall { id: "gemini".to_owned() }).unwrap();
    settled(&agents);
    let card = wait(&agents, |card, _| !card.usable);
    assert_eq!((package(&card).installed.as_ref(), folders(folder.path())), (None, vec![]));
    // The list that was fetched last is kept.
    assert_eq!(package(&card).offer.as_ref().unwrap().package, "good@1.1.0");
    let again = self::agents(folder.path(), "good@1.1.0");
    assert_eq!(package(&wait(&again, |_, _| true)).offer.as_ref().unwrap().package, "good@1.1.0");
}

#[test]
fn failed_installation_says_why_and_leaves_nothing() {
    let speaks = SPEAKS.replace("VERSION", "1.0.0");
    let wrong = json!({"dist": {"tarball": format!("{}/forged-1.0.0.tgz", registry().1),
        "integrity": "sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="}});
    let rows = [
        ("forged", speaks.as_str(), wrong, "does not match its checksum"),
        (
            "silent",
            "echo no model >&2; exit 3",
            json!({}),
            "does not work: it ended (exit code 3) before it answered initialize: no model",
        ),
        ("bare", &speaks, json!({"bin": {}}), "contains no program gemini"),
    ];
    for (name, script, with, expected) in rows {
        let folder = tempfile::tempdir().unwrap();
        Published { name, versions: vec![("1.0.0", script)], with }.publish();
        let exact = format!("{name}@1.0.0");
        let agents = agents(folder.path(), &exact);
        let card = install(&agents, &exact);
        let problem = package(&card).problem.clone().unwrap_or_default();
        assert!(problem.contains(expected), "{name}: {problem}");
        assert_eq!((card.usable, folders(folder.path())), (false, vec![]), "{name}");
    }
    let folder = tempfile::tempdir().unwrap();
    let agents = agents(folder.path(), "nowhere@1.0.0");
    let card = install(&agents, "nowhere@1.0.0");
    assert_eq!(
        package(&card).problem.as_deref(),
        Some("npm's registry has no package nowhere@1.0.0. Check for updates, then try again.")
    );
}

/// A program for Node that speaks ACP and names the Node that runs it.
const SPEAKS_ON_NODE: &str = r#"#!/usr/bin/env node
process.stdin.once('data', () => console.log(JSON.stringify({jsonrpc: '2.0', id: 0, result: {protocolVersion: 1,
  agentInfo: {name: 'x', version: process.env.OWN_NODE ?? 'theirs'}, agentCapabilities: {}}})));
"#;

#[test]
fn agent_that_needs_a_newer_node_gets_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (package, version) = crate::packages::NODE.unwrap();
    // The Node of this machine under the name of another one.
    let node = Command::new("/bin/sh").args(["-c", "command -v node"]).output().unwrap().stdout;
    let node = format!(r#"OWN_NODE=ours exec {} "$@""#, String::from_utf8(node).unwrap().trim());
    Published { name: package, versions: vec![(version, &node)], with: json!({}) }.publish();
    for (name, engines, expected) in [("modern", ">=999", "x ours"), ("modest", ">=1", "x theirs")] {
        Published {
            name,
            versions: vec![("1.0.0", SPEAKS_ON_NODE)],
            with: json!({"engines": {"node": engines}}),
        }
        .publish();
        let exact = format!("{name}@1.0.0");
        let agents = agents(&folder.path().join(name), &exact);
        let card = install(&agents, &exact);
        assert_eq!(card.introduces_itself.as_deref(), Some(expected), "{card:?}");
    }
}

#[test]
fn stopped_installation_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dist = json!({"dist": {"tarball": format!("{}{SILENT}", registry().1), "integrity": "sha512-AAAA"}});
    Published { name: "slow", versions: vec![("1.0.0", "exit 0")], with: dist }.publish();
    let agents = agents(folder.path(), "slow@1.0.0");
    begin(&agents, "slow@1.0.0").unwrap();
    let refused = begin(&agents, "slow@1.0.0").unwrap_err().to_string();
    assert!(refused.contains("already being installed"), "{refused}");
    // Another window of OpenAgents with the same data folder.
    wait(&agents, |card, _| {
        package(card).progress.as_ref().is_some_and(|progress| progress.step == "Downloading")
    });
    let other = self::agents(folder.path(), "slow@1.0.0");
    let problem = package(&install(&other, "slow@1.0.0")).problem.clone().unwrap();
    assert!(problem.contains("is running"), "{problem}");
    agents.command(AgentCommand::StopInstall { id: "gemini".to_owned() }).unwrap();
    let card = wait(&agents, |card, _| package(card).progress.is_none());
    assert_eq!((&package(&card).problem, folders(folder.path())), (&None, vec![]));
}

#[test]
fn list_that_cannot_be_fetched_keeps_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let agents = agents(folder.path(), "good@1.0.0");
    let list = format!("/{}.json", folder.path().file_name().unwrap().to_string_lossy());
    for bad in ["{", "{}", r#"{"version":"2.0.0","agents":[]}"#] {
        registry().0.put(&list, bad);
        agents.command(AgentCommand::CheckForUpdates).unwrap();
        let card = wait(&agents, |_, fetching| !fetching);
        assert!(agents.snapshot().packages.problem.unwrap().contains("Update OpenAgents"), "{bad}");
        assert_eq!(package(&card).offer.as_ref().unwrap().package, "good@1.0.0");
    }
}
