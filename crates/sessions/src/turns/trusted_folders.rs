//! Trusting a folder and revoking that trust, without a turn that waits for it.

use super::{executor::TurnExecutor, own_question::shown, trust::grant, unasked};
use crate::{blocking::run_blocking, error::SessionError, live::Session};
use openagents_core::trust::{AgentFiles, covers, look};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

impl TurnExecutor {
    /// Stores that the user at this computer trusts a folder with its current agent settings. Fails if these differ
    /// from `seen`. Prompts that wait for this trust continue. Returns the settings, and the workspace that covers the
    /// folder.
    pub async fn trust(
        self: &Arc<Self>,
        folder: &Path,
        seen: Option<AgentFiles>,
        by: &str,
    ) -> Result<(AgentFiles, PathBuf), SessionError> {
        let (turns, folder, by) = (self.context(), folder.to_owned(), by.to_owned());
        let work = move || {
            let invalid =
                |error: &dyn std::fmt::Display| SessionError::invalid(format!("{}: {error}", shown(&folder)));
            let root = folder.canonicalize().map_err(|error| invalid(&error))?;
            let brings = look(&root).map_err(|error| invalid(&error))?;
            if !brings.complete {
                return Err(invalid(&brings.lines(false).join("\n")));
            }
            if seen.is_some_and(|seen| seen != brings) {
                return Err(invalid(&"it changed after it was shown; look again"));
            }
            let covered_by = grant(&turns.sessions, &root, &brings, &by)?;
            // A user who trusts a folder is informed about these agents.
            let agents = turns.runner.agents.iter().flat_map(|agents| agents.providers());
            let unasked = agents.filter(|agent| agent.decides_what_it_asks());
            unasked::confirm(&turns, unasked.map(|agent| agent.id().to_owned()), &root);
            Ok((brings, covered_by))
        };
        run_blocking(work).await.unwrap_or_else(|| Err(SessionError::internal("the folder cannot be read")))
    }

    /// Revokes the trust in a workspace, and stops the agents that run in it. The next agent asks again.
    pub async fn revoke_trust(&self, folder: &Path) -> Result<(), SessionError> {
        let (sessions, given) = (self.sessions().clone(), folder.to_owned());
        let work = move || {
            // A trusted folder may be gone by now.
            let path = given.canonicalize().unwrap_or_else(|_| given.clone());
            let trusted = sessions.trusted();
            if trusted.revoke(&path)? || trusted.revoke(&given)? {
                let live = sessions.all_live().into_iter();
                let is_below = |folder: &Path| covers(&path, folder) || folder.starts_with(&given);
                return Ok(live.filter(|session| is_below(session.cwd())).collect());
            }
            let shown = shown(&given);
            Err(match trusted.list().into_iter().find(|row| covers(&row.path, &path)) {
                Some(row) => SessionError::not_found(format!(
                    "{shown} is covered by the trust in {}; revoke that one.",
                    self::shown(&row.path)
                )),
                None => SessionError::not_found(format!("{shown} is not trusted.")),
            })
        };
        let stopped: Result<Vec<Arc<Session>>, _> = run_blocking(work)
            .await
            .unwrap_or_else(|| Err(SessionError::internal("the trusted workspaces cannot be changed")));
        stopped?.iter().for_each(|session| self.close(session));
        Ok(())
    }
}
