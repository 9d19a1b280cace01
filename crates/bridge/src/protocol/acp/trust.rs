//! The trusted workspaces.

use super::{answer::Answer, calls::Methods};
use crate::base::{error::Fault, feed::Feed, pass::Who, scope::Scope};
use openagents_core::trust::AgentFiles;
use openagents_sessions::SessionRegistry;
use serde_json::json;
use std::{path::Path, sync::Arc};

/// Creates the feed of the trusted workspaces.
pub(crate) fn feed(sessions: &SessionRegistry) -> Arc<Feed> {
    let (trusted, watched) = (sessions.trusted().clone(), sessions.trusted());
    let feed = Feed::new("_openagents/trust", Scope::View, move || json!({"workspaces": trusted.list()}));
    watched.watch(feed.notifier());
    feed
}

impl Methods {
    /// Trusts a folder with its current agent settings, which the user has `seen`.
    pub(super) async fn trust(&self, path: &Path, seen: Option<AgentFiles>) -> Result<Answer, Fault> {
        if self.lease.pass.who != Who::Local {
            return Err(Fault::busy(
                "A folder can be trusted only on the computer itself. Run `openagents workspaces trust` there.",
            ));
        }
        let client = self.line.client();
        let by = if client.is_empty() { "a client without a name" } else { &*client };
        let (brings, covered_by) = self.services.turns.trust(path, seen, by).await?;
        let mut answer = self.services.trust.snapshot();
        answer["brings"] = json!(brings);
        answer["coveredBy"] = covered_by.to_string_lossy().into();
        Ok(Answer::Now(answer))
    }
}
