//! Entries of the ACP registry in the format of `agent.json` (<https://agentclientprotocol.com/get-started/registry>).
//!
//! Downloads nothing: an entry becomes a command that the user adds. `npx` and `uvx` fetch a package when they start
//! it; a program in an archive has to be installed first.

use openagents_core::agent::{CustomAgent, CustomKind};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The reason an entry cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Not JSON, or not in this format.
    #[error("this is not an entry of the ACP registry: {0}")]
    Malformed(#[from] serde_json::Error),
    /// None of its distributions can be started here.
    #[error("{0} has no npx or uvx package and no program for this machine ({1}); add its command by hand")]
    NoDistribution(String, String),
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(default)]
    name: Option<String>,
    distribution: Distribution,
}

#[derive(Deserialize)]
struct Distribution {
    #[serde(default)]
    npx: Option<Package>,
    #[serde(default)]
    uvx: Option<Package>,
    #[serde(default)]
    binary: BTreeMap<String, Program>,
}

#[derive(Deserialize)]
struct Package {
    package: String,
    /// The program in the package, if its name differs from the package's.
    #[serde(default)]
    cmd: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Program {
    cmd: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Converts an entry into an agent that can be added. A program in an archive is looked up by its file name.
pub fn from_registry(entry: &str) -> Result<CustomAgent, RegistryError> {
    let Entry { id, name, distribution } = serde_json::from_str(entry)?;
    let platform = platform();
    let program = distribution.binary.into_iter().find(|(name, _)| *name == platform);
    let kind = match (distribution.npx, distribution.uvx, program) {
        (Some(package), ..) => package.fetched_by("npx", "--package", &["--yes"]),
        (None, Some(package), _) => package.fetched_by("uvx", "--from", &[]),
        (None, None, Some((_, Program { cmd, args, env }))) => {
            let command = cmd.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            CustomKind::Acp { command, args, env, cwd: None }
        }
        (None, None, None) => return Err(RegistryError::NoDistribution(id, platform)),
    };
    Ok(CustomAgent { id, name, kind })
}

impl Package {
    /// Returns the command that fetches and starts the package. `option` precedes the package name if its program has
    /// a different name.
    fn fetched_by(self, command: &str, option: &str, before: &[&str]) -> CustomKind {
        let mut args: Vec<_> = before.iter().map(|argument| (*argument).to_owned()).collect();
        args.extend(self.cmd.is_some().then(|| option.to_owned()));
        args.push(self.package);
        args.extend(self.cmd);
        args.extend(self.args);
        CustomKind::Acp { command: command.to_owned(), args, env: self.env, cwd: None }
    }
}

/// `darwin-aarch64`, `linux-x86_64`.
fn platform() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    format!("{system}-{}", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn command(distribution: serde_json::Value) -> Result<String, RegistryError> {
        let entry = json!({"id": "x", "name": "X", "version": "1.0.0", "distribution": distribution});
        let agent = from_registry(&entry.to_string())?;
        assert_eq!((agent.id.as_str(), agent.name.as_deref()), ("x", Some("X")));
        crate::custom::check(&agent).unwrap();
        let CustomKind::Acp { command, args, .. } = agent.kind else { unreachable!() };
        Ok(format!("{command} {}", args.join(" ")))
    }

    #[test]
    fn every_distribution_becomes_a_command() {
        let here = json!({"cmd": "./dist/goose", "args": ["acp"], "archive": "https://x/y.tar.gz"});
        let rows = [
            (json!({"npx": {"package": "@a/b@1.2.3", "args": ["--acp"]}}), "npx --yes @a/b@1.2.3 --acp"),
            (json!({"npx": {"package": "@a/b", "cmd": "b-acp"}}), "npx --yes --package @a/b b-acp"),
            (json!({"uvx": {"package": "b==4.5.6", "args": ["serve"]}}), "uvx b==4.5.6 serve"),
            (json!({"uvx": {"package": "b[acp]", "cmd": "b-acp"}}), "uvx --from b[acp] b-acp"),
            (json!({"binary": {platform(): here}}), "goose acp"),
        ];
        for (distribution, expected) in rows {
            assert_eq!(command(distribution).unwrap(), expected);
        }
    }

    #[test]
    fn an_entry_that_cannot_be_started_here_is_an_error() {
        let elsewhere = json!({"binary": {"plan9-mips": {"cmd": "./x"}}});
        assert!(matches!(command(elsewhere), Err(RegistryError::NoDistribution(id, _)) if id == "x"));
        assert!(matches!(from_registry("{}"), Err(RegistryError::Malformed(_))));
    }
}
