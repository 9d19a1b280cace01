//! `openagents sessions continue`: continues a past session in its own agent or in another one.

use crate::{args, attach, bridge, output, signals, surroundings};
use agent_client_protocol_schema::v1::{
    NewSessionRequest, NewSessionResponse, PromptRequest, SetSessionModeRequest,
};
use anyhow::Context;
use openagents_core::visible::shell_word;
use openagents_transcripts::history::Transcript;
use openagents_wire::{BriefQuery, ContinueSession, NewSessionMeta, SessionName, SessionRef, meta, methods};
use serde_json::{Value, json};
use std::{path::Path, process::ExitCode};

pub(super) fn run(wanted: &args::Continue) -> anyhow::Result<ExitCode> {
    let session = surroundings::session(&surroundings::history(), &wanted.id)?;
    let folder = session.folder().map(Path::to_owned).with_context(|| {
        format!("the folder of session {} is unknown, so no agent can continue it", session.id)
    })?;
    if !folder.exists() {
        let path = folder.to_string_lossy();
        let (shown, word) = (output::printable(&path), shell_word(&path));
        anyhow::bail!("{shown} does not exist; if it was moved, run `openagents workspaces moved {word}`");
    }
    if wanted.command {
        let agent = session.provider.display_name();
        let command = session.provider.resume_command(&session.id);
        let command = command.with_context(|| format!("{agent} has no command that continues a session"))?;
        let folder = shell_word(&folder.to_string_lossy()).into_owned();
        output::line(format_args!("cd {folder} && {command}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    signals::run(continue_session(session, &folder, wanted))
}

async fn continue_session(
    session: Transcript,
    folder: &Path,
    wanted: &args::Continue,
) -> anyhow::Result<ExitCode> {
    // Held until the end: a temporary bridge ends after its last client.
    let mut client = bridge::reach(&surroundings::data_folder()?).await?;
    let own = session.provider.as_str();
    let agent = wanted.agent.as_deref().unwrap_or(own);
    let session_id = if agent == own {
        if session.gone.is_some() && !wanted.yes {
            let name = session.provider.display_name();
            let question = format!("The log no longer exists. Write it back into the folder of {name}?");
            if !output::ask(&question, "--yes")? {
                return Ok(ExitCode::FAILURE);
            }
        }
        let request = ContinueSession {
            agent: agent.to_owned(),
            cwd: folder.to_owned(),
            id: session.id,
            copy: wanted.copy,
        };
        let SessionRef { session_id } = client.call::<methods::AgentsContinueSession>(request).await?;
        session_id
    } else {
        let name = SessionName { provider: own.to_owned(), id: session.id };
        let query =
            BriefQuery { session: name, agent: Some(agent.to_owned()), tokens: None, shown: Vec::new() };
        let brief = client.call::<methods::ContinueBrief>(query).await?;
        output::piece(&brief.text)?;
        if !wanted.yes && !output::ask(&format!("Send this to {agent}?"), "--yes")? {
            return Ok(ExitCode::FAILURE);
        }
        // The user named a session of this folder, which makes it known.
        let ours = meta(&NewSessionMeta { open: true, policy: None });
        let new = NewSessionRequest::new(bridge::wire_path(folder.to_owned())?).meta(ours);
        let new: NewSessionResponse = client.request("session/new", &new).await?;
        let mode = SetSessionModeRequest::new(new.session_id.clone(), agent.to_owned());
        if let Err(error) = client.request::<Value>("session/set_mode", &mode).await {
            // Nothing was asked in it.
            client.request::<Value>("session/delete", &json!({"sessionId": new.session_id})).await?;
            return Err(error.into());
        }
        let prompt = PromptRequest::new(new.session_id.clone(), vec![brief.text.into()]);
        client.ask("session/prompt", &prompt).await?;
        new.session_id.to_string()
    };
    attach::follow_session(&session_id).await
}
