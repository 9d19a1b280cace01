//! What the agents on this computer are doing, on the wire.

use openagents_live::{Certainty, Doubt, Failure, LiveRow, LiveState, Need, Stop};
use openagents_wire as wire;
use std::cmp::Reverse;

/// Returns the rows on the wire: those that need the user first, longest wait first. Places are left out for clients
/// that cannot go there.
pub(super) fn snapshot(rows: Vec<LiveRow>, is_here: bool) -> wire::LiveSnapshot {
    let checked = rows.iter().map(|row| row.checked).max().unwrap_or_default();
    let mut sessions: Vec<_> = rows.into_iter().map(|row| session(row, is_here)).collect();
    sessions.sort_by_key(|row| match row.state {
        wire::LiveKind::Needs => (0, Reverse(-row.since)),
        _ => (1, Reverse(row.since)),
    });
    wire::LiveSnapshot { sessions, checked }
}

fn session(row: LiveRow, is_here: bool) -> wire::LiveSession {
    let LiveRow { agent, id, folder, reading, since, tool, place, .. } = row;
    let (state, detail) = state(&reading.state);
    let waits = matches!(state, wire::LiveKind::Needs | wire::LiveKind::Working);
    wire::LiveSession {
        provider: agent.as_str().to_owned(),
        agent: agent.display_name().to_owned(),
        id,
        cwd: folder.map(|folder| folder.to_string_lossy().into_owned()),
        state,
        detail: detail.map(str::to_owned),
        tool: tool.filter(|_| waits),
        since,
        certainty: match reading.certainty {
            Certainty::Reported => wire::Certainty::Reported,
            Certainty::Seen => wire::Certainty::Seen,
            Certainty::Inferred => wire::Certainty::Inferred,
        },
        evidence: reading.evidence.text,
        place: place.filter(|_| is_here),
    }
}

fn state(state: &LiveState) -> (wire::LiveKind, Option<&'static str>) {
    use wire::LiveKind;
    match state {
        LiveState::Idle => (LiveKind::Idle, None),
        LiveState::Working => (LiveKind::Working, None),
        LiveState::Done => (LiveKind::Done, None),
        LiveState::Needs(need) => (
            LiveKind::Needs,
            Some(match need {
                Need::Approval => "approval",
                Need::Question => "question",
                Need::Plan => "plan",
                Need::StartScreen => "start screen",
                Need::Dialog => "dialog",
            }),
        ),
        LiveState::Failed(why) => (
            LiveKind::Failed,
            match why {
                Some(Failure::RateLimit) => Some("rate limit"),
                Some(Failure::Login) => Some("login"),
                Some(Failure::Other) | None => None,
            },
        ),
        LiveState::Stopped(why) => (
            LiveKind::Stopped,
            Some(match why {
                Stop::ByUser => "by you",
                Stop::Exited => "exited during a turn",
                Stop::Suspended => "suspended",
                Stop::WindowClosed => "window closed",
            }),
        ),
        LiveState::Unclear(doubt) => (
            LiveKind::Unclear,
            Some(match doubt {
                Doubt::FinishedOrWaiting => "finished or waiting",
                Doubt::WorkingOrWaiting => "working or waiting",
            }),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_live::{Evidence, EvidenceKind, Reading};
    use openagents_transcripts::history::Provider;

    fn row(id: &str, state: LiveState, since: i64) -> LiveRow {
        let evidence =
            Evidence { kind: EvidenceKind::Log, text: "Its log has an open turn".to_owned(), at: 1 };
        LiveRow {
            agent: Provider::Codex,
            id: Some(id.to_owned()),
            folder: Some("/w/tide".into()),
            reading: Reading { state, certainty: Certainty::Seen, evidence },
            since,
            checked: 9,
            tool: Some("exec_command".to_owned()),
            place: Some("tmux work:2.1".to_owned()),
        }
    }

    #[test]
    fn longest_wait_comes_first_and_places_stay_here() {
        let rows = || {
            vec![
                row("done", LiveState::Done, 7),
                row("new", LiveState::Needs(Need::Question), 6),
                row("working", LiveState::Working, 5),
                row("old", LiveState::Needs(Need::Approval), 2),
            ]
        };
        let here = snapshot(rows(), true);
        let ids: Vec<_> = here.sessions.iter().filter_map(|row| row.id.as_deref()).collect();
        assert_eq!((ids, here.checked), (vec!["old", "new", "done", "working"], 9));
        assert_eq!(here.sessions[0].detail.as_deref(), Some("approval"));
        assert_eq!(here.sessions[0].place.as_deref(), Some("tmux work:2.1"));
        assert_eq!(here.sessions[2].tool, None);
        assert!(snapshot(rows(), false).sessions.iter().all(|row| row.place.is_none()));
    }
}
