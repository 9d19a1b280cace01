//! `openagents attach`: follows a session of the running bridge live in this terminal and reconnects as needed.

mod approvals;
mod link;
mod screen;

use crate::{
    args, bridge, output,
    signals::{self, Interrupts},
    surroundings,
};
use agent_client_protocol_schema::v1::{ListSessionsRequest, ListSessionsResponse, PromptRequest};
use anyhow::Context;
use link::{Followed, LinkNews, Wish, follow};
use openagents_wire::{ClientMeta, ListMeta, Method, UpdateParams, meta, methods};
use screen::SessionScreen;
use serde::Deserialize;
use std::{io::IsTerminal, path::Path, process::ExitCode};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    sync::mpsc,
};

/// Capacity of the update queue. A slow terminal blocks the bridge.
const QUEUE: usize = 256;

/// Characters of a complete session id.
const WHOLE_ID: usize = 36;

pub(crate) fn run(arguments: &args::Attach) -> anyhow::Result<ExitCode> {
    signals::run(attach(arguments))
}

/// Follows a session from its first update on.
pub(crate) async fn follow_session(session_id: &str) -> anyhow::Result<ExitCode> {
    let session = Some(session_id.to_owned());
    attach(&args::Attach { session, since: 0, json: false, no_snapshot: false }).await
}

async fn attach(arguments: &args::Attach) -> anyhow::Result<ExitCode> {
    let mut signals = Interrupts::listen()?;
    let home = surroundings::data_folder()?;
    let session_id = choose(&home, arguments.session.as_deref()).await?;
    let followed = Followed {
        home,
        session_id: session_id.clone(),
        since: arguments.since,
        snapshot: !arguments.no_snapshot,
    };
    let (shown, mut news) = mpsc::channel(QUEUE);
    let (wish, wishes) = mpsc::channel(QUEUE);
    let following = tokio::spawn(follow(followed, shown, wishes));
    let interactive = !arguments.json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut client = match arguments.json {
        true => Client::Program { offline: false },
        false => Client::Person(Box::new(SessionScreen::new(interactive))),
    };
    let mut typed = BufReader::new(tokio::io::stdin()).lines();
    let mut reads = interactive;
    loop {
        tokio::select! {
            biased;
            () = signals.next() => break,
            arrived = news.recv() => match arrived {
                Some(LinkNews::Deleted) => anyhow::bail!("this session was deleted"),
                Some(news) => client.show(news)?,
                // The link ends by itself only if the bridge does not have the session.
                None => {
                    following.await??;
                    break;
                }
            },
            line = typed.next_line(), if reads => match line? {
                Some(line) => {
                    if let Some(asked) = client.typed(&session_id, line.trim())? {
                        wish.send(asked).await?;
                    }
                }
                None => reads = false,
            },
        }
    }
    if let Client::Person(screen) = &mut client {
        screen.end()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the id of a session from the beginning of its id, or of the session that changed last.
async fn choose(home: &Path, wanted: Option<&str>) -> anyhow::Result<String> {
    let address = openagents_bridge::running(home)
        .context("OpenAgents is not running here; start the app, or `openagents serve`")?;
    let connected = bridge::connect(address, home, ClientMeta::default()).await;
    let mut bridge = connected.with_context(|| format!("the bridge at http://{address}"))?;
    if let Some(whole) = wanted.filter(|wanted| wanted.len() >= WHOLE_ID) {
        return Ok(whole.to_owned());
    }
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let children = ListMeta { watch: false, children: wanted.is_some() };
        let list = ListSessionsRequest::new().cursor(cursor).meta(meta(&children));
        let page: ListSessionsResponse = bridge.request("session/list", &list).await?;
        let mut ids = page.sessions.into_iter().map(|row| row.session_id.to_string());
        match wanted {
            None => return ids.next().context("no sessions yet; `openagents explore` creates one"),
            Some(wanted) => found.extend(ids.filter(|id| id.starts_with(wanted))),
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let wanted = wanted.unwrap_or_default();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => anyhow::bail!("no session id begins with {wanted}"),
        many => anyhow::bail!("{many} session ids begin with {wanted}; type more of the id"),
    }
}

/// The consumer of the session's events.
enum Client {
    Person(Box<SessionScreen>),
    /// Prints lines of JSON; link events go to stderr.
    Program {
        offline: bool,
    },
}

impl Client {
    fn show(&mut self, news: LinkNews) -> anyhow::Result<()> {
        match self {
            Self::Person(screen) => match news {
                LinkNews::Link(link) => screen.link(link),
                LinkNews::Attached(connection, attached) => {
                    screen.attached(connection, attached.approvals);
                    Ok(())
                }
                // An update of another version may have a kind that is not known here.
                LinkNews::Update(params) => {
                    UpdateParams::deserialize(params).map_or(Ok(()), |it| screen.show(&it))
                }
                LinkNews::Activity(activity) => {
                    screen.activity(activity);
                    Ok(())
                }
                LinkNews::Queue(queued) => screen.queue(queued.len()),
                LinkNews::Refused(reason) => screen.refused(&reason),
                LinkNews::Deleted => Ok(()),
            },
            Self::Program { offline } => match news {
                LinkNews::Update(params) => output::json_line(&params),
                LinkNews::Link(link) => {
                    let is_offline = matches!(link, link::Link::Offline { .. });
                    if is_offline != *offline {
                        output::warn(&link.describe());
                    }
                    *offline = is_offline;
                    Ok(())
                }
                LinkNews::Refused(reason) => {
                    output::warn(&reason);
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }

    /// Parses a typed line: an answer, a prompt, or an empty line to reconnect now.
    fn typed(&mut self, session_id: &str, line: &str) -> anyhow::Result<Option<Wish>> {
        let Self::Person(screen) = self else { return Ok(None) };
        if line.is_empty() {
            return Ok(Some(Wish::Hurry));
        }
        match screen.approvals().answer(session_id, line) {
            Some(Ok(answer)) => {
                let params = serde_json::to_value(answer)?;
                Ok(Some(Wish::Request(methods::ApprovalsAnswer::NAME, params)))
            }
            Some(Err(reason)) => {
                screen.refused(&reason)?;
                Ok(None)
            }
            None => {
                let prompt = PromptRequest::new(session_id.to_owned(), vec![line.into()]);
                Ok(Some(Wish::Request("session/prompt", serde_json::to_value(prompt)?)))
            }
        }
    }
}
