//! `openagents privacy`: read access of models and agents, as a table, and its switches.

use crate::{args, endpoint::Endpoint, output};
use openagents_wire::{PrivacyCell, PrivacyChange, PrivacySnapshot, methods};
use std::process::ExitCode;

pub(crate) fn run(arguments: &args::Privacy) -> anyhow::Result<ExitCode> {
    let is_both = |switch| arguments.deny.contains(switch);
    if let Some(switch) = arguments.allow.iter().find(|switch| is_both(switch)) {
        let usage = format!("--allow {0} and --deny {0} contradict each other", switch.name());
        return Err(output::Usage(usage).into());
    }
    let mut endpoint = Endpoint::open()?;
    for (switches, on) in [(&arguments.allow, true), (&arguments.deny, false)] {
        for switch in switches {
            endpoint.call::<methods::PrivacySet>(PrivacyChange { switch: switch.name().to_owned(), on })?;
        }
    }
    let table = endpoint.list::<methods::PrivacyList>()?;
    if arguments.json {
        output::json_pretty(&table)?;
    } else {
        for line in lines(&table) {
            output::line(line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(table: &PrivacySnapshot) -> Vec<String> {
    let head = ["", "model on this computer", "model elsewhere", "hosted agent"].map(str::to_owned);
    let rows = table.rows.iter().map(|row| {
        let what = match row.what.as_str() {
            "files" => "Files of the folder".to_owned(),
            "history" => "Past sessions of the folder".to_owned(),
            "other_history" => "Past sessions of other folders".to_owned(),
            other => output::printable(other),
        };
        let cells = row.cells.iter().map(cell);
        std::iter::once(what).chain(cells).collect()
    });
    let all: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(rows).collect();
    let mut lines = output::columns(&all);
    lines.push("\nHosted agents run their own programs, such as Codex and Claude Code. They also get what you send them.".to_owned());
    lines.push("Change with `openagents privacy --allow SWITCH` or `--deny SWITCH`; it applies from the next prompt.".to_owned());
    lines
}

fn cell(cell: &PrivacyCell) -> String {
    match (cell.allowed, cell.switch.as_deref()) {
        (true, None) => "always".to_owned(),
        (false, None) => "never".to_owned(),
        (true, Some(switch)) => format!("on   ({})", output::printable(switch)),
        (false, Some(switch)) => format!("off  ({})", output::printable(switch)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn privacy_table_names_its_switches() {
        let cell =
            |allowed, switch: Option<&str>| json!({"reader": "local", "allowed": allowed, "switch": switch});
        let table = serde_json::from_value(json!({"rows": [
            {"what": "history", "cells": [cell(true, None), cell(false, Some("elsewhere-history")), cell(true, Some("hosted-history"))]},
            {"what": "other_history", "cells": [cell(false, Some("local-other-history")), cell(false, None), cell(false, None)]},
        ]}))
        .unwrap();
        let lines = lines(&table);
        insta::assert_snapshot!(lines[..3].join("\n"), @r"
                                        model on this computer      model elsewhere           hosted agent
        Past sessions of the folder     always                      off  (elsewhere-history)  on   (hosted-history)
        Past sessions of other folders  off  (local-other-history)  never                     never
        ");
    }
}
