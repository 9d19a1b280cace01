//! `openagents sessions keep`: copies of sessions that outlive their logs.

use crate::{
    args::{Keep, KeepCommand},
    bridge, output, signals, surroundings, words,
};
use openagents_bridge::client::Client;
use openagents_transcripts::history::Transcript;
use openagents_wire::{
    CopyVersion, Empty, ForgetCopies, KeepChange, KeepSnapshot, KeepState, RestoreCopy, SessionName, Watch,
    methods,
};
use std::process::ExitCode;

pub(crate) fn run(keep: &Keep) -> anyhow::Result<ExitCode> {
    signals::run(act(keep))
}

async fn act(keep: &Keep) -> anyhow::Result<ExitCode> {
    let mut client = bridge::reach(&surroundings::data_folder()?).await?;
    match keep.command.as_ref().unwrap_or(&KeepCommand::Status) {
        KeepCommand::Status => {
            let status = client.call::<methods::KeepStatus>(Watch { watch: false }).await?;
            show(&status, keep.json)?;
        }
        KeepCommand::On => {
            configure(&mut client, KeepChange { on: Some(true), ..KeepChange::default() }, keep).await?
        }
        KeepCommand::Off => {
            configure(&mut client, KeepChange { on: Some(false), ..KeepChange::default() }, keep).await?
        }
        KeepCommand::Limit { size } => {
            configure(
                &mut client,
                KeepChange { limit: usize::try_from(*size).ok(), ..KeepChange::default() },
                keep,
            )
            .await?;
        }
        KeepCommand::Verify => {
            let verified = client.call::<methods::KeepVerify>(Empty {}).await?;
            if keep.json {
                output::json_pretty(&verified)?;
            } else {
                output::line(format_args!("{} compared with their checksums", bytes(verified.bytes)))?;
                for damaged in &verified.damaged {
                    let (session, file) =
                        (output::printable(&damaged.session), output::printable(&damaged.file));
                    output::line(format_args!("{} damaged in {session}: {file}", bytes(damaged.bytes)))?;
                }
            }
            if !verified.damaged.is_empty() {
                return Ok(ExitCode::FAILURE);
            }
        }
        KeepCommand::Versions { id } => {
            let session = name(&surroundings::session(&surroundings::history(), id)?);
            let found = client.call::<methods::KeepVersions>(session).await?;
            if keep.json {
                output::json_pretty(&found)?;
            } else {
                let rows: Vec<_> = found.versions.iter().map(version).collect();
                output::columns(&rows).iter().try_for_each(output::line)?;
            }
        }
        KeepCommand::Restore { id, to, into_agent, version, yes } => {
            let session = name(&surroundings::session(&surroundings::history(), id)?);
            let to = to.as_ref().map(std::path::absolute).transpose()?;
            if *into_agent
                && !yes
                && !output::ask(&format!("Write session {id} into its agent's folder?"), "--yes")?
            {
                return Ok(ExitCode::FAILURE);
            }
            let restored =
                client.call::<methods::KeepRestore>(RestoreCopy { session, to, version: *version }).await?;
            if keep.json {
                output::json_pretty(&restored)?;
            } else {
                restored.files.iter().try_for_each(|file| output::line(output::printable(file)))?;
            }
        }
        KeepCommand::Forget { ids, gone_before, all, yes } => {
            let sessions = ids
                .iter()
                .map(|id| Ok(name(&surroundings::session(&surroundings::history(), id)?)))
                .collect::<anyhow::Result<Vec<_>>>()?;
            let question = match (all, gone_before) {
                (true, _) => "Delete all kept copies?".to_owned(),
                (false, Some(_)) => {
                    "Delete the copies of sessions that were gone before that day?".to_owned()
                }
                (false, None) => {
                    format!("Delete the copies of {}?", words::count(ids.len() as u64, "session"))
                }
            };
            if !yes && !output::ask(&question, "--yes")? {
                return Ok(ExitCode::FAILURE);
            }
            let which = ForgetCopies { sessions, gone_before: *gone_before, all: *all };
            let forgotten = client.call::<methods::KeepForget>(which).await?;
            if keep.json {
                output::json_pretty(&forgotten)?;
            } else {
                let sessions = words::count(forgotten.sessions as u64, "session");
                output::line(format_args!("Deleted the copies of {sessions}"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn version(version: &CopyVersion) -> Vec<String> {
    let since = jiff::Timestamp::from_millisecond(version.since).unwrap_or_default();
    let since = since.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string();
    let lines = words::count(version.lines, "line");
    vec![version.number.to_string(), since, lines, bytes(version.bytes)]
}

async fn configure(client: &mut Client, change: KeepChange, keep: &Keep) -> anyhow::Result<()> {
    let status = client.call::<methods::KeepConfigure>(change).await?;
    show(&status, keep.json)
}

fn show(status: &KeepSnapshot, json: bool) -> anyhow::Result<()> {
    if json {
        return output::json_pretty(status);
    }
    lines(status).into_iter().try_for_each(|line| output::line(line).map_err(Into::into))
}

fn lines(status: &KeepSnapshot) -> Vec<String> {
    let mut lines = vec![match status.state {
        KeepState::Off if status.answered => {
            "Sessions are not kept. `openagents sessions keep on` keeps them.".to_owned()
        }
        KeepState::Off => {
            let found = words::count(status.found as u64, "session");
            format!(
                "Sessions are not kept. `openagents sessions keep on` keeps {found}, in about {}.",
                bytes(status.expected_bytes)
            )
        }
        KeepState::On if status.waiting > 0 => {
            format!("Sessions are kept; {} not yet copied.", words::count(status.waiting as u64, "session"))
        }
        KeepState::On => "Sessions are kept.".to_owned(),
        KeepState::Paused => "Keeping is paused: less than 1 GB of the disk is free.".to_owned(),
        KeepState::Full => {
            format!(
                "The copies have reached {}. `openagents sessions keep limit` raises that.",
                bytes(status.room)
            )
        }
    }];
    if status.sessions > 0 {
        let (sessions, raw) = (words::count(status.sessions, "session"), bytes(status.raw_bytes));
        let gone = match status.gone {
            0 => String::new(),
            gone => format!(", {gone} of them gone"),
        };
        lines.push(format!("{sessions}{gone}: {} for {raw}", bytes(status.bytes)));
    }
    if status.damaged > 0 {
        lines
            .push(format!("{} damaged; `openagents sessions keep verify` lists them", bytes(status.damaged)));
    }
    for soon in status.soon.iter().filter(|soon| soon.now > 0) {
        let sessions = words::count(soon.now as u64, "session");
        lines.push(format!(
            "{} deletes {sessions} the next time it starts (after {} days)",
            soon.agent, soon.days
        ));
    }
    lines
}

fn bytes(bytes: u64) -> String {
    indicatif::DecimalBytes(bytes).to_string()
}

fn name(row: &Transcript) -> SessionName {
    SessionName { provider: row.provider.as_str().to_owned(), id: row.id.clone() }
}
