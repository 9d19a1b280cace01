//! `openagents attach`: follows a session of the running bridge live in this terminal and reconnects as needed.

mod approvals;
mod link;
mod screen;

use crate::{
    args,
    bridge::Connection,
    output,
    signals::{self, Interrupts},
    surroundings,
};
use anyhow::Context;
use link::{Followed, LinkNews, Wish, follow};
use screen::SessionScreen;
use serde_json::{Value, json};
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
    let (told, mut news) = mpsc::channel(QUEUE);
    let (wish, wishes) = mpsc::channel(QUEUE);
    let following = tokio::spawn(follow(followed, told, wishes));
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
            heard = news.recv() => match heard {
                Some(LinkNews::Notification(method, params)) if is_deleted(&session_id, &method, &params) => {
                    anyhow::bail!("this session was deleted")
                }
                Some(heard) => client.hear(heard)?,
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

fn is_deleted(session_id: &str, method: &str, params: &Value) -> bool {
    let removed = params["removed"].as_array();
    method == "_openagents/sessions" && removed.is_some_and(|ids| ids.iter().any(|id| id == session_id))
}

/// Returns the id of a session from the beginning of its id, or of the session that changed last.
async fn choose(home: &Path, wanted: Option<&str>) -> anyhow::Result<String> {
    let address = openagents_bridge::running(home)
        .context("OpenAgents is not running here; start the app, or `openagents serve`")?;
    let mut bridge =
        Connection::open(address, home).await.with_context(|| format!("the bridge at http://{address}"))?;
    if let Some(whole) = wanted.filter(|wanted| wanted.len() >= WHOLE_ID) {
        return Ok(whole.to_owned());
    }
    let mut cursor = Value::Null;
    let mut found = Vec::new();
    loop {
        let mut params = json!({"_meta": {"openagents": {"children": wanted.is_some()}}});
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        let page = bridge.request("session/list", params).await?;
        let ids =
            page["sessions"].as_array().into_iter().flatten().filter_map(|row| row["sessionId"].as_str());
        match wanted {
            None => {
                let last = ids.into_iter().next().map(str::to_owned);
                return last.context("no sessions yet; `openagents explore` creates one");
            }
            Some(wanted) => found.extend(ids.filter(|id| id.starts_with(wanted)).map(str::to_owned)),
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
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
    fn hear(&mut self, news: LinkNews) -> anyhow::Result<()> {
        match self {
            Self::Person(screen) => match news {
                LinkNews::Link(link) => screen.link(link),
                LinkNews::Attached(connection, attached) => {
                    screen.attached(connection, &attached);
                    Ok(())
                }
                LinkNews::Update(params) => screen.show(&params),
                LinkNews::Notification(method, params) => match method.as_str() {
                    "_openagents/activity" => {
                        let activity = serde_json::from_value(params["activity"].clone());
                        screen.activity(activity.unwrap_or_default());
                        Ok(())
                    }
                    "_openagents/queue" => screen.queue(&params["queued"]),
                    _ => Ok(()),
                },
                LinkNews::Refused(reason) => screen.refused(&reason),
            },
            Self::Program { offline } => match news {
                LinkNews::Update(params) => output::json_line(&params),
                LinkNews::Link(link) => {
                    let is_offline = matches!(link, link::Link::Offline { .. });
                    if is_offline != *offline {
                        output::warn(&screen::told(&link));
                    }
                    *offline = is_offline;
                    Ok(())
                }
                LinkNews::Refused(reason) => {
                    output::warn(&reason);
                    Ok(())
                }
                LinkNews::Attached(..) | LinkNews::Notification(..) => Ok(()),
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
            Some(Ok(params)) => Ok(Some(Wish::Request("_openagents/approvals/answer", params))),
            Some(Err(reason)) => {
                screen.refused(&reason)?;
                Ok(None)
            }
            None => {
                let prompt = json!([{"type": "text", "text": line}]);
                let params = json!({"sessionId": session_id, "prompt": prompt});
                Ok(Some(Wish::Request("session/prompt", params)))
            }
        }
    }
}
