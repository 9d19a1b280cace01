//! `openagents privacy`: read access of models and agents, as a table, and its switches.

use crate::{
    args,
    endpoint::{Endpoint, PRIVACY},
    output,
};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(arguments: &args::Privacy) -> anyhow::Result<ExitCode> {
    let is_both = |switch| arguments.deny.contains(switch);
    if let Some(switch) = arguments.allow.iter().find(|switch| is_both(switch)) {
        let usage = format!("--allow {0} and --deny {0} contradict each other", switch.name());
        return Err(output::Usage(usage).into());
    }
    let mut endpoint = Endpoint::open(PRIVACY)?;
    for (switches, on) in [(&arguments.allow, true), (&arguments.deny, false)] {
        for switch in switches {
            endpoint.request("set", json!({"switch": switch.name(), "on": on}))?;
        }
    }
    let table = endpoint.snapshot()?;
    if arguments.json {
        output::json_pretty(&table)?;
    } else {
        for line in lines(&table) {
            output::line(line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(table: &Value) -> Vec<String> {
    let head = ["", "model on this computer", "model elsewhere", "hosted agent"].map(str::to_owned);
    let rows = output::rows(table, "rows").iter().map(|row| {
        let what = match row["what"].as_str().unwrap_or_default() {
            "files" => "Files of the folder".to_owned(),
            "history" => "Past sessions of the folder".to_owned(),
            "other_history" => "Past sessions of other folders".to_owned(),
            other => output::printable(other),
        };
        let cells = output::rows(row, "cells").iter().map(cell);
        std::iter::once(what).chain(cells).collect()
    });
    let all: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(rows).collect();
    let mut lines = output::columns(&all);
    lines.push("\nHosted agents run their own programs, such as Codex and Claude Code. They also get what a person sends them.".to_owned());
    lines.push("Change with `openagents privacy --allow SWITCH` or `--deny SWITCH`; it applies from the next prompt.".to_owned());
    lines
}

fn cell(cell: &Value) -> String {
    match (cell["allowed"] == true, cell["switch"].as_str()) {
        (true, None) => "always".to_owned(),
        (false, None) => "never".to_owned(),
        (true, Some(switch)) => format!("on   ({})", output::printable(switch)),
        (false, Some(switch)) => format!("off  ({})", output::printable(switch)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_its_switches() {
        let yes = json!({"allowed": true});
        let table = json!({"rows": [
            {"what": "history", "cells": [yes, {"allowed": false, "switch": "elsewhere-history"}, {"allowed": true, "switch": "hosted-history"}]},
            {"what": "other_history", "cells": [{"allowed": false, "switch": "local-other-history"}, {"allowed": false}, {"allowed": false}]},
        ]});
        let lines = lines(&table);
        insta::assert_snapshot!(lines[..3].join("\n"), @r"
                                        model on this computer      model elsewhere           hosted agent
        Past sessions of the folder     always                      off  (elsewhere-history)  on   (hosted-history)
        Past sessions of other folders  off  (local-other-history)  never                     never
        ");
    }
}
