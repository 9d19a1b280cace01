//! The sessions that agents keep themselves, and how one of them is continued here.

use super::{executor::TurnExecutor, trust};
use crate::{blocking::run_blocking, error::SessionError, live::Session};
use openagents_core::{
    CancellationToken,
    agent::{AgentProvider, OwnSession},
    update::{AgentNote, NoteContent, SessionUpdate, Severity, new_id},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// A session of an agent, and the session of ours that continues it.
#[derive(Debug, Clone)]
pub struct KnownSession {
    pub own: OwnSession,
    pub session_id: Option<String>,
}

impl TurnExecutor {
    /// Returns the sessions that an agent keeps in a workspace. Starts the agent, so the workspace has to be trusted.
    pub async fn own_sessions(
        self: &Arc<Self>,
        agent: &str,
        cwd: PathBuf,
    ) -> Result<Vec<KnownSession>, SessionError> {
        let (store, id) = (self.sessions().store().clone(), agent.to_owned());
        let place = (agent.to_owned(), cwd.clone());
        let listed: Vec<KnownSession> = self
            .with_agent(agent, cwd, move |agent, cwd| {
                let all = agent.own_sessions(cwd, &CancellationToken::new()).map_err(sentence)?;
                let known = |own: OwnSession| {
                    let session_id = store.session_with(&id, &own.id)?;
                    Ok(KnownSession { own, session_id })
                };
                all.into_iter().map(known).collect::<Result<_, SessionError>>()
            })
            .await?;
        let titles = listed.iter().map(|it| (it.own.id.clone(), it.own.title.clone())).collect();
        self.listed.lock().await.insert(place, titles);
        Ok(listed)
    }

    /// Deletes a session that an agent keeps.
    pub async fn delete_own_session(
        self: &Arc<Self>,
        agent: &str,
        cwd: PathBuf,
        id: String,
    ) -> Result<(), SessionError> {
        self.with_agent(agent, cwd, move |agent, cwd| {
            agent.delete_own_session(cwd, &id, &CancellationToken::new()).map_err(sentence)
        })
        .await
    }

    /// Creates a session that continues one of an agent's own, or a copy of it, with its next prompt. Returns the one that
    /// already does, except for a copy.
    /// The agent's session has to be one that was listed in this folder, or one of the history: then `in_history` is its
    /// title.
    pub async fn continue_own_session(
        self: &Arc<Self>,
        agent: &str,
        cwd: PathBuf,
        (id, is_copy): (&str, bool),
        in_history: Option<Option<String>>,
    ) -> Result<Arc<Session>, SessionError> {
        let name = self.agent(agent)?.name();
        // Held to the end, so that two clients continue it in one session.
        let listed = self.listed.lock().await;
        let title = || listed.get(&(agent.to_owned(), cwd.clone()))?.get(id).cloned();
        let title = in_history.or_else(title).ok_or_else(|| {
            SessionError::invalid(format!(
                "{name} has not listed that session here. List its sessions again."
            ))
        })?;
        let (store, holder) = (self.sessions().store().clone(), (agent.to_owned(), id.to_owned()));
        let known = run_blocking(move || store.session_with(&holder.0, &holder.1)).await;
        let known = known.ok_or_else(|| SessionError::internal("the sessions could not be read"))??;
        if let Some(known) = known.filter(|_| !is_copy)
            && let Some(session) = self.sessions().find(&known).await?
        {
            return Ok(session);
        }
        let session = self.sessions().create(&cwd).await?;
        session.set_mode(agent).await?;
        let (store, of) = (self.sessions().store().clone(), session.clone());
        let (agent, id) = (agent.to_owned(), id.to_owned());
        let begin = move || {
            match is_copy {
                true => store.copy_agent_session(of.id(), &agent, &id)?,
                false => store.remember_agent_session(of.id(), &agent, &id)?,
            }
            let what = if is_copy { "a copy of a session" } else { "a session" };
            let content = NoteContent::Notice {
                severity: Severity::Info,
                title: format!("Continues {what} of {name}. Its earlier messages aren't shown here."),
                description: None,
                count: 1,
            };
            of.append(vec![SessionUpdate::AgentNote(AgentNote { id: new_id(), content })]);
            title.into_iter().for_each(|title| of.suggest_title(title));
            Ok::<_, SessionError>(())
        };
        run_blocking(begin)
            .await
            .ok_or_else(|| SessionError::internal("the session could not be stored"))??;
        Ok(session)
    }

    fn agent(self: &Arc<Self>, id: &str) -> Result<Arc<dyn AgentProvider>, SessionError> {
        let id = openagents_core::text::prefix(id, 100);
        let agent = self.context().runner.agent(id);
        agent.ok_or_else(|| SessionError::invalid(format!("There is no agent {id} here.")))
    }

    async fn with_agent<T: Send + 'static>(
        self: &Arc<Self>,
        agent: &str,
        cwd: PathBuf,
        work: impl FnOnce(&dyn AgentProvider, &Path) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, SessionError> {
        let (turns, agent) = (self.context(), self.agent(agent)?);
        let work = move || {
            if !trust::is_trusted(&turns, &*agent, &cwd, &CancellationToken::new()) {
                let (name, cwd) = (agent.name(), cwd.display());
                return Err(SessionError::invalid(format!(
                    "{name} starts only in folders that you trust. Send it a prompt in {cwd} first; you are asked then."
                )));
            }
            work(&*agent, &cwd)
        };
        let done = run_blocking(work).await;
        done.unwrap_or_else(|| Err(SessionError::internal("the agent's sessions could not be read")))
    }
}

fn sentence(why: String) -> SessionError {
    SessionError::invalid(format!("{}.", why.trim_end_matches('.')))
}
