//! `openagents status`: what the agents on this computer are doing, for prompts, tmux and scripts.

use crate::{args::Status, bridge, output, signals::Interrupts, surroundings};
use openagents_bridge::{client::Client, running};
use openagents_wire::{ClientMeta, LiveKind, LiveSession, LiveSnapshot, Watch, methods};
use std::{path::Path, process::ExitCode};

/// Something needs the user.
const NEEDS: u8 = 10;
/// No bridge runs, so nothing is known.
const UNKNOWN: u8 = 3;

pub(crate) fn run(arguments: &Status) -> anyhow::Result<ExitCode> {
    let home = surroundings::data_folder()?;
    let Some(address) = running(&home) else { return Ok(ExitCode::from(UNKNOWN)) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut client = bridge::connect(address, &home, ClientMeta::default()).await?;
        let mut snapshot = client.call::<methods::LiveList>(Watch { watch: arguments.watch }).await?;
        print(&snapshot, arguments)?;
        if arguments.watch {
            follow(&mut client, &mut snapshot, arguments).await?;
        }
        let needs = snapshot.sessions.iter().any(|session| session.state == LiveKind::Needs);
        Ok(if needs { ExitCode::from(NEEDS) } else { ExitCode::SUCCESS })
    })
}

/// Prints each change until Ctrl-C.
async fn follow(client: &mut Client, snapshot: &mut LiveSnapshot, arguments: &Status) -> anyhow::Result<()> {
    let mut signals = Interrupts::listen()?;
    loop {
        let incoming = tokio::select! {
            () = signals.next() => return Ok(()),
            incoming = client.next() => incoming?,
        };
        if let Some(next) = incoming.event::<methods::LiveChanged>() {
            let is_new = arguments.json || sum(&next.sessions) != sum(&snapshot.sessions);
            *snapshot = next;
            if is_new {
                print(snapshot, arguments)?;
            }
        }
    }
}

fn print(snapshot: &LiveSnapshot, arguments: &Status) -> anyhow::Result<()> {
    if arguments.json {
        return output::json_line(snapshot);
    }
    let sum = sum(&snapshot.sessions);
    // An empty line says that nothing is left.
    if !sum.is_empty() || arguments.watch {
        output::line(&sum)?;
    }
    if !arguments.short && !arguments.watch {
        let now = output::now_ms();
        let rows: Vec<_> = snapshot.sessions.iter().map(|session| row(session, now)).collect();
        for line in output::columns(&rows) {
            output::line(line)?;
        }
    }
    Ok(())
}

/// `2 need you · 3 working · 1 failed`
fn sum(sessions: &[LiveSession]) -> String {
    let count = |kind| sessions.iter().filter(|session| session.state == kind).count();
    let part = |kind, one: &str, many: &str| match count(kind) {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let parts = [
        part(LiveKind::Needs, "needs you", "need you"),
        part(LiveKind::Working, "working", "working"),
        part(LiveKind::Failed, "failed", "failed"),
        part(LiveKind::Unclear, "unclear", "unclear"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn row(session: &LiveSession, now: i64) -> Vec<String> {
    let state = match session.state {
        LiveKind::Idle => "idle",
        LiveKind::Working => "working",
        LiveKind::Needs => "needs you",
        LiveKind::Done => "done",
        LiveKind::Failed => "failed",
        LiveKind::Stopped => "stopped",
        LiveKind::Unclear => "unclear",
    };
    let detail = [session.detail.as_deref(), session.tool.as_deref()];
    let detail = detail.into_iter().flatten().map(output::printable).collect::<Vec<_>>().join(", ");
    let folder = session.cwd.as_ref().and_then(|folder| Path::new(folder).file_name());
    let folder = folder.map(|name| output::printable(&name.to_string_lossy())).unwrap_or_default();
    let age = output::age(session.since, now);
    let place = session.place.as_deref().map(output::printable).unwrap_or_default();
    vec![state.to_owned(), detail, age, session.agent.clone(), folder, place]
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_wire::Certainty;

    fn session(state: LiveKind) -> LiveSession {
        LiveSession {
            provider: "codex".to_owned(),
            agent: "Codex".to_owned(),
            id: None,
            cwd: Some("/w/tide".to_owned()),
            state,
            detail: None,
            tool: None,
            since: 0,
            certainty: Certainty::Seen,
            evidence: String::new(),
            place: None,
        }
    }

    #[test]
    fn sum_counts_what_matters() {
        use LiveKind::{Done, Failed, Idle, Needs, Unclear, Working};
        let rows: &[(&[LiveKind], &str)] = &[
            (&[], ""),
            (&[Idle, Done], ""),
            (&[Needs], "1 needs you"),
            (&[Needs, Working, Needs, Failed, Done], "2 need you · 1 working · 1 failed"),
            (&[Unclear], "1 unclear"),
        ];
        for (kinds, expected) in rows {
            let sessions: Vec<_> = kinds.iter().map(|kind| session(*kind)).collect();
            assert_eq!(sum(&sessions), *expected);
        }
    }
}
