//! The arguments of `openagents privacy`.

use clap::Args;
use openagents_tools::reading::ReadingSwitch;

#[derive(Debug, Args)]
pub(crate) struct Privacy {
    /// Switch on: local-other-history, elsewhere-history or hosted-history; may be given several times
    #[arg(long, value_name = "SWITCH", value_parser = reading_switch)]
    pub(crate) allow: Vec<ReadingSwitch>,
    /// Switch off
    #[arg(long, value_name = "SWITCH", value_parser = reading_switch)]
    pub(crate) deny: Vec<ReadingSwitch>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn reading_switch(name: &str) -> Result<ReadingSwitch, String> {
    let known = ReadingSwitch::ALL.into_iter().find(|switch| switch.name() == name);
    known.ok_or_else(|| {
        let names = ReadingSwitch::ALL.map(ReadingSwitch::name).join(", ");
        format!("no such switch: {name} (known: {names})")
    })
}
