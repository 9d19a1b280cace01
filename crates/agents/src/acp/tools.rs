//! MCP servers for an agent, as parameters of `session/new`, `session/load` and `session/resume`.

use super::config::OwnTools;
use agent_client_protocol_schema::v1::McpCapabilities;
use openagents_core::{
    agent::{ToolServer, ToolServerKind},
    folders::HOME_VARIABLE,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

/// The servers that an agent can use, and a sentence for each of the others.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Servers {
    pub(super) params: Vec<Value>,
    pub(super) problems: Vec<String>,
}

pub(super) fn servers(
    tools: &[ToolServer],
    can: &McpCapabilities,
    own: Option<&OwnTools>,
    environment: &BTreeMap<String, String>,
    root: &Path,
) -> Servers {
    let mut servers = Servers::default();
    for tool in tools {
        match server(tool, can, own, environment, root) {
            Ok(params) => servers.params.push(params),
            Err(why) => servers.problems.push(format!("The tools of {} were left out: {why}.", tool.name)),
        }
    }
    servers
}

/// Fails with a clause.
fn server(
    ToolServer { name, kind, .. }: &ToolServer,
    can: &McpCapabilities,
    own: Option<&OwnTools>,
    environment: &BTreeMap<String, String>,
    root: &Path,
) -> Result<Value, String> {
    let value = |variable: &String| {
        environment
            .get(variable)
            .ok_or_else(|| format!("the variable {variable} is not set in your login shell"))
    };
    match kind {
        ToolServerKind::Openagents => {
            let missing =
                || "the program openagents is not in the PATH; install it or remove them".to_owned();
            let OwnTools { program, home } = own.ok_or_else(missing)?;
            let program = which::which_in(program, environment.get("PATH"), "/").map_err(|_| missing())?;
            // Past sessions are offered only while the user allows hosted agents to read them.
            Ok(json!({"name": name, "command": program, "args": ["mcp", root, "--history"],
                "env": [{"name": HOME_VARIABLE, "value": home}]}))
        }
        ToolServerKind::Command { command, args, variables } => {
            let path = environment.get("PATH");
            let program = which::which_in(command, path, "/").map_err(|_| {
                format!("the program {command} is not in the PATH; install it or remove them")
            })?;
            let env = variables.iter().map(|name| Ok(json!({"name": name, "value": value(name)?})));
            let env = env.collect::<Result<Vec<_>, String>>()?;
            Ok(json!({"name": name, "command": program, "args": args, "env": env}))
        }
        ToolServerKind::Http { url, headers } => {
            if !can.http {
                return Err("this agent can't use MCP servers over HTTP".to_owned());
            }
            let headers =
                headers.iter().map(|(name, variable)| Ok(json!({"name": name, "value": value(variable)?})));
            let headers = headers.collect::<Result<Vec<_>, String>>()?;
            Ok(json!({"type": "http", "name": name, "url": url, "headers": headers}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(json: Value) -> ToolServer {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn servers_become_parameters_or_problems() {
        let tools = [
            tool(json!({"name": "openagents", "kind": "openagents"})),
            tool(
                json!({"name": "db", "kind": "command", "command": "sh", "args": ["-c", "x"], "variables": ["TOKEN"]}),
            ),
            tool(
                json!({"name": "docs", "kind": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "AUTH"}}),
            ),
        ];
        let own = OwnTools { program: "/bin/sh".into(), home: "/data".into() };
        let variables = [("PATH", "/usr/bin:/bin"), ("TOKEN", "t"), ("AUTH", "Bearer x")];
        let variables: BTreeMap<_, _> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let can = McpCapabilities::new().http(true);
        let all = servers(&tools, &can, Some(&own), &variables, Path::new("/w"));
        let sh = which::which_in("sh", Some("/usr/bin:/bin"), "/").unwrap();
        assert_eq!(
            all.params,
            [
                json!({"name": "openagents", "command": "/bin/sh", "args": ["mcp", "/w", "--history"],
                    "env": [{"name": "OPENAGENTS_HOME", "value": "/data"}]}),
                json!({"name": "db", "command": sh, "args": ["-c", "x"], "env": [{"name": "TOKEN", "value": "t"}]}),
                json!({"type": "http", "name": "docs", "url": "https://docs.example/mcp",
                    "headers": [{"name": "Authorization", "value": "Bearer x"}]}),
            ]
        );
        assert_eq!(all.problems, Vec::<String>::new());
        for params in all.params {
            serde_json::from_value::<agent_client_protocol_schema::v1::McpServer>(params).unwrap();
        }

        let path = BTreeMap::from([("PATH".to_owned(), "/nowhere".to_owned())]);
        let none = servers(&tools, &McpCapabilities::new(), None, &path, Path::new("/w"));
        assert_eq!(none.params, Vec::<Value>::new());
        let left_out = |name: &str, why: &str| format!("The tools of {name} were left out: {why}.");
        assert_eq!(
            none.problems,
            [
                left_out(
                    "openagents",
                    "the program openagents is not in the PATH; install it or remove them"
                ),
                left_out("db", "the program sh is not in the PATH; install it or remove them"),
                left_out("docs", "this agent can't use MCP servers over HTTP"),
            ]
        );
        let unset = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let unset = servers(&tools[1..], &can, None, &unset, Path::new("/w"));
        assert_eq!(
            unset.problems,
            [
                left_out("db", "the variable TOKEN is not set in your login shell"),
                left_out("docs", "the variable AUTH is not set in your login shell"),
            ]
        );
    }
}
