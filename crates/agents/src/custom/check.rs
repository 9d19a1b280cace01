//! Validation of agents that the user adds.

use crate::limits::{ID_BYTES, SETTING_BYTES, SETTING_ENTRIES};
use openagents_core::agent::{CustomAgent, CustomKind, ToolServer, ToolServerKind};
use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Words in header names that mark secrets, which do not belong in the settings: `X-Api-Key`, `Cookie`.
const SECRETS: [&str; 11] = [
    "key",
    "apikey",
    "token",
    "secret",
    "auth",
    "authorization",
    "authentication",
    "cookie",
    "password",
    "credential",
    "credentials",
];

/// Fails with one sentence that names the mistake and a valid value.
pub(crate) fn check(agent: &CustomAgent) -> Result<(), String> {
    let id = &agent.id;
    let is_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if id.is_empty() || id.len() > ID_BYTES || !id.bytes().all(is_id) {
        return Err(format!("the id {id:?} is invalid; use 1 to {ID_BYTES} of a-z, 0-9, - _ and ."));
    }
    if let Some(name) = &agent.name {
        check_text("the name", name)?;
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            return Err("the name is empty or has control characters; leave it out to show the id".to_owned());
        }
    }
    match &agent.kind {
        CustomKind::Acp { command, args, env, cwd } => {
            check_command(command)?;
            check_count("arguments", args.len())?;
            args.iter().try_for_each(|argument| check_text("an argument", argument))?;
            check_variables(env)?;
            match cwd {
                Some(cwd) if !cwd.is_absolute() => {
                    Err(format!("the folder {} is not an absolute path; give the whole path", cwd.display()))
                }
                _ => Ok(()),
            }
        }
        CustomKind::Openai { base_url, model, key_variable, headers } => {
            check_url(base_url)?;
            check_text("the model", model)?;
            if model.trim().is_empty() {
                return Err("the model is empty; give the name that the server has for it".to_owned());
            }
            if let Some(variable) = key_variable {
                check_variable(variable)?;
            }
            check_headers(headers)
        }
    }
}

/// Checks the MCP servers of a workspace. Fails with one sentence that names the mistake and a valid value.
pub(crate) fn check_tools(workspace: &Path, servers: &[ToolServer]) -> Result<(), String> {
    if !workspace.is_absolute() {
        return Err(format!(
            "the folder {} is not an absolute path; give the whole path",
            workspace.display()
        ));
    }
    check_count("servers", servers.len())?;
    let mut names = BTreeSet::new();
    for ToolServer { name, agents, kind } in servers {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > ID_BYTES || !name.bytes().all(is_name) {
            return Err(format!("the name {name:?} is invalid; use 1 to {ID_BYTES} of a-z, 0-9, - and _"));
        }
        if !names.insert(name) {
            return Err(format!("there are two servers with the name {name}; choose another one"));
        }
        check_count("agents", agents.len())?;
        agents.iter().try_for_each(|agent| check_text("an agent", agent))?;
        match kind {
            ToolServerKind::Openagents => {}
            ToolServerKind::Command { command, args, variables } => {
                check_command(command)?;
                check_count("arguments", args.len())?;
                args.iter().try_for_each(|argument| check_text("an argument", argument))?;
                check_count("variables", variables.len())?;
                variables.iter().try_for_each(|variable| check_variable(variable))?;
            }
            ToolServerKind::Http { url, headers } => {
                check_url(url)?;
                check_count("headers", headers.len())?;
                for (name, variable) in headers {
                    if HeaderName::from_bytes(name.as_bytes()).is_err() {
                        return Err(format!(
                            "{name:?} is not the name of a header; use letters, digits and -"
                        ));
                    }
                    check_variable(variable)?;
                }
            }
        }
    }
    Ok(())
}

fn check_command(command: &str) -> Result<(), String> {
    check_text("the command", command)?;
    if command.trim().is_empty() {
        return Err("the command is empty; give the name of a program or its absolute path".to_owned());
    }
    if command.contains('/') && !command.starts_with('/') {
        return Err(format!("the command {command} is a relative path; give a name or an absolute path"));
    }
    Ok(())
}

fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), String> {
    check_count("variables", variables.len())?;
    for (name, value) in variables {
        check_variable(name)?;
        check_text(name, value)?;
    }
    Ok(())
}

fn check_variable(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty()
        || name.len() > ID_BYTES
        || name.starts_with(|first: char| first.is_ascii_digit())
        || !name.bytes().all(fits)
    {
        return Err(format!(
            "{name:?} is not the name of a variable; use letters, digits and _ (the key itself does not belong here)"
        ));
    }
    Ok(())
}

fn check_url(url: &str) -> Result<(), String> {
    check_text("the address", url)?;
    let example = "give one like http://127.0.0.1:8080/v1";
    let parsed =
        Url::parse(url).map_err(|error| format!("the address {url:?} is invalid ({error}); {example}"))?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host().is_none() {
        return Err(format!("the address {url:?} is not http or https; {example}"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() || parsed.query().is_some() {
        return Err(
            "the address holds a name, a password or a query, which every client would see; name the variable of the key instead"
                .to_owned(),
        );
    }
    Ok(())
}

fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), String> {
    check_count("headers", headers.len())?;
    for (name, value) in headers {
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(format!("{name:?} is not the name of a header"));
        }
        if name.to_ascii_lowercase().split(['-', '_', '.']).any(|word| SECRETS.contains(&word)) {
            return Err(format!(
                "the header {name} holds a secret, which is not kept in the settings; name the variable of the key instead"
            ));
        }
        check_text(name, value)?;
        if HeaderValue::from_str(value).is_err() {
            return Err(format!("the value of the header {name} has characters that a header cannot have"));
        }
    }
    Ok(())
}

fn check_count(what: &str, count: usize) -> Result<(), String> {
    if count > SETTING_ENTRIES {
        return Err(format!("there are {count} {what}; the limit is {SETTING_ENTRIES}"));
    }
    Ok(())
}

fn check_text(what: &str, text: &str) -> Result<(), String> {
    if text.len() > SETTING_BYTES {
        return Err(format!("{what} has {} bytes; the limit is {SETTING_BYTES}", text.len()));
    }
    if text.contains('\0') {
        return Err(format!("{what} has a zero byte, which can't be passed to a program"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn checked(mut change: Value, base: Value) -> Result<(), String> {
        let mut agent = base;
        agent.as_object_mut().unwrap().append(change.as_object_mut().unwrap());
        check(&serde_json::from_value(agent).unwrap())
    }

    fn acp(change: Value) -> Result<(), String> {
        checked(change, json!({"id": "mine", "kind": "acp", "command": "agent"}))
    }

    fn openai(change: Value) -> Result<(), String> {
        checked(
            change,
            json!({"id": "vllm", "kind": "openai", "baseUrl": "http://127.0.0.1:8000/v1", "model": "m"}),
        )
    }

    #[test]
    fn check_accepts_valid_agents() {
        let rows = [
            acp(json!({})),
            acp(
                json!({"id": "a.b-c_9", "name": "Mein Agent", "command": "/opt/x y/agent", "args": ["--acp", ""]}),
            ),
            acp(json!({"env": {"MODE": "a=b"}, "cwd": "/srv"})),
            openai(json!({})),
            openai(
                json!({"baseUrl": "https://example.com", "keyVariable": "MY_KEY", "headers": {"X-Title": "us", "X-Monkey": "k"}}),
            ),
        ];
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(*row, Ok(()), "row {at}");
        }
    }

    #[test]
    fn check_tools_names_the_mistake() {
        let check = |servers: Value| {
            check_tools(Path::new("/w"), &serde_json::from_value::<Vec<_>>(servers).unwrap())
        };
        let good = json!([{"name": "openagents", "kind": "openagents", "agents": ["codex"]},
            {"name": "db", "kind": "command", "command": "db-mcp", "args": ["--x"], "variables": ["DB_URL"]},
            {"name": "docs", "kind": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "DOCS_AUTH"}}]);
        assert_eq!(check(good), Ok(()));
        let rows = [
            (json!([{"name": "A b", "kind": "openagents"}]), "name \"A b\""),
            (
                json!([{"name": "a", "kind": "openagents"}, {"name": "a", "kind": "openagents"}]),
                "two servers",
            ),
            (json!([{"name": "a", "kind": "command", "command": "./x"}]), "relative"),
            (json!([{"name": "a", "kind": "command", "command": "x", "variables": ["sk-1"]}]), "variable"),
            (json!([{"name": "a", "kind": "http", "url": "docs.example"}]), "http"),
            (
                json!([{"name": "a", "kind": "http", "url": "https://a.b", "headers": {"X": "Bearer abc"}}]),
                "variable",
            ),
            (json!([{"name": "a", "kind": "http", "url": "https://a.b", "headers": {"a b": "X"}}]), "header"),
        ];
        for (servers, expected) in rows {
            let refusal = check(servers.clone()).expect_err("it is invalid");
            assert!(refusal.contains(expected), "{servers}: {refusal}");
        }
        assert!(check_tools(Path::new("w"), &[]).is_err());
    }

    #[test]
    fn check_rejects_invalid_agents() {
        let rows = [
            (acp(json!({"id": ""})), "id \"\""),
            (acp(json!({"id": "A"})), "id \"A\""),
            (acp(json!({"id": "a:b"})), "id"),
            (acp(json!({"id": "x".repeat(65)})), "1 to 64"),
            (acp(json!({"name": " "})), "name"),
            (acp(json!({"name": "a\u{1b}[2J"})), "control"),
            (acp(json!({"command": "  "})), "command is empty"),
            (acp(json!({"command": "./agent"})), "relative"),
            (acp(json!({"command": "a\u{0}b"})), "zero byte"),
            (acp(json!({"args": vec!["x"; 101]})), "101 arguments"),
            (acp(json!({"args": ["x".repeat(9000)]})), "9000 bytes"),
            (acp(json!({"env": {"A-B": "1"}})), "variable"),
            (acp(json!({"cwd": "src"})), "absolute"),
            (openai(json!({"baseUrl": "localhost:8080"})), "http"),
            (openai(json!({"baseUrl": "file:///etc/passwd"})), "http"),
            (openai(json!({"baseUrl": "nonsense"})), "nonsense"),
            (openai(json!({"baseUrl": "https://me:secret@example.com/v1"})), "password"),
            (openai(json!({"baseUrl": "https://example.com/v1?key=secret"})), "query"),
            (openai(json!({"model": ""})), "model"),
            (openai(json!({"keyVariable": "sk-proj-secret"})), "variable"),
            (openai(json!({"headers": {"Authorization": "Bearer x"}})), "Authorization"),
            (openai(json!({"headers": {"x-API-key": "x"}})), "secret"),
            (openai(json!({"headers": {"Ocp-Apim-Subscription-Key": "x"}})), "secret"),
            (openai(json!({"headers": {"cf-access-client-secret": "x"}})), "secret"),
            (openai(json!({"headers": {"X-Gitlab_Token": "x"}})), "secret"),
            (openai(json!({"headers": {"Set-Cookie": "x"}})), "secret"),
            (openai(json!({"headers": {"a b": "x"}})), "header"),
            (openai(json!({"headers": {"X-A": "x\ny"}})), "X-A"),
        ];
        for (at, (row, expected)) in rows.iter().enumerate() {
            let refusal = row.as_ref().expect_err(&at.to_string());
            assert!(refusal.contains(expected), "row {at}: {refusal}");
        }
    }
}
