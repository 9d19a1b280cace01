//! The calls about kept copies of other agents' sessions.

use super::{
    answer::Answer,
    calls::{Methods, list_answer},
    history::{self, within},
    history_calls::stopped,
    keep::{changed, snapshot},
};
use openagents_connection::{fault::Fault, pass::Who, rpc};
use openagents_sessions::run_blocking;
use openagents_transcripts::{
    history::{Gone, Provider, Transcript},
    keep::{KeepError, Keeper, KeptVersion, RestoreError},
};
use openagents_wire::{
    CopyVersion, CopyVersions, DamagedCopy, ForgetCopies, ForgottenCopies, KeepChange, RestoreCopy,
    RestoredFiles, SessionName, VerifiedCopies, methods,
};
use std::sync::Arc;

impl Methods {
    pub(super) fn kept(&self, watch: bool) -> Answer {
        let feed = self.past().kept();
        list_answer(watch, feed.snapshot_for(self.lease.pass.scope()), feed)
    }

    pub(super) async fn configure_keeping(&self, change: KeepChange) -> Result<Answer, Fault> {
        let keeper = self.keeper_here()?;
        let (past, settings) = (self.past().clone(), changed(keeper.settings(), change)?);
        let stored = settings.clone();
        let store = move || stored.store(past.settings());
        let stored = run_blocking(store).await.ok_or_else(stopped)?;
        stored.map_err(|error| Fault::internal(format!("The settings could not be stored: {error}.")))?;
        keeper.configure(settings);
        Ok(Answer::Now(rpc::value(&snapshot(&keeper))))
    }

    pub(super) fn verify_copies(&self) -> Result<Answer, Fault> {
        let keeper = self.past().keeper()?.clone();
        Ok(Answer::Later(Box::pin(async move {
            let verified =
                run_blocking(move || keeper.verify()).await.ok_or_else(stopped)?.map_err(failed)?;
            let damaged = verified.damaged.into_iter().map(|file| DamagedCopy {
                session: file.collection,
                file: file.name,
                bytes: file.bytes,
            });
            Ok(rpc::value(&VerifiedCopies { bytes: verified.bytes, damaged: damaged.collect() }))
        })))
    }

    pub(super) fn forget_copies(&self, which: ForgetCopies) -> Result<Answer, Fault> {
        let keeper = self.keeper_here()?;
        let ForgetCopies { sessions, gone_before, all } = which;
        if sessions.is_empty() && gone_before.is_none() && !all {
            return Err(Fault::invalid_params("Name the sessions, a time in `goneBefore`, or `all`."));
        }
        let sessions: Vec<(Provider, String)> = sessions
            .into_iter()
            .map(|SessionName { provider, id }| Ok((history::provider(&provider)?, id)))
            .collect::<Result<_, Fault>>()?;
        let forget = move || {
            keeper.forget(&|provider, id, gone: Option<Gone>| {
                let since = gone.and_then(|gone| gone.since);
                all || gone_before.zip(since).is_some_and(|(before, since)| since < before)
                    || sessions.iter().any(|(other, name)| *other == provider && name == id)
            })
        };
        Ok(Answer::Later(Box::pin(async move {
            let sessions = run_blocking(forget).await.ok_or_else(stopped)?.map_err(failed)?;
            Ok(rpc::value(&ForgottenCopies { sessions }))
        })))
    }

    pub(super) async fn restore_copy(&self, restore: RestoreCopy) -> Result<Answer, Fault> {
        let keeper = self.keeper_here()?;
        let RestoreCopy { session: SessionName { provider, id }, to, version } = restore;
        if version.is_some() && to.is_none() {
            return Err(Fault::invalid_params("A version is restored to a folder: name it in `to`."));
        }
        let provider = history::provider(&provider)?;
        self.with_history::<methods::KeepRestore>(move |history| {
            // Excluded sessions have no copies, but one may have been excluded just now.
            if history.find(&id, Some(provider), &within(history::LIST_TIME)).is_none() {
                return Err(Fault::not_found(format!("No copy of session {id} is kept.")));
            }
            let restored = match to {
                Some(to) => keeper.copies().restore_to(provider, &id, version, &to, history.roots()),
                None => keeper.copies().restore_into_agent(provider, &id),
            };
            let restored = restored.map_err(|error| refused(&error))?;
            let files = restored.files.iter().map(|path| path.to_string_lossy().into_owned());
            Ok(RestoredFiles { files: files.collect() })
        })
        .await
    }

    /// Lists the versions of a session's log.
    pub(super) async fn versions(&self, session: SessionName) -> Result<Answer, Fault> {
        let keeper = self.past().keeper()?.clone();
        self.with_history::<methods::KeepVersions>(move |history| {
            let found = history::find(history, &session, &within(history::LIST_TIME))?;
            let versions = keeper.copies().versions(found.provider, &found.id).map_err(failed)?;
            let version = |version: KeptVersion| CopyVersion {
                number: version.number,
                since: version.since_ms,
                bytes: version.bytes,
                lines: version.lines,
            };
            Ok(CopyVersions { versions: versions.into_iter().map(version).collect() })
        })
        .await
    }

    /// Writes a session whose log no longer exists to where its agent finds it, so that it can be continued.
    pub(super) async fn restore_for_agent(&self, gone: &Transcript) -> Result<(), Fault> {
        let (keeper, provider, id) = (self.keeper_here()?, gone.provider, gone.id.clone());
        let restored = run_blocking(move || keeper.copies().restore_into_agent(provider, &id)).await;
        match restored.ok_or_else(stopped)? {
            // Its log came back in the meantime.
            Ok(_) | Err(RestoreError::Exists(_)) => Ok(()),
            Err(error) => Err(refused(&error)),
        }
    }

    /// Returns the copies for a client that may change them.
    fn keeper_here(&self) -> Result<Arc<Keeper>, Fault> {
        if self.lease.pass.who != Who::Local {
            return Err(Fault::invalid_request(
                "Kept copies are changed only on the computer that stores them.",
            ));
        }
        self.past().keeper().cloned()
    }
}

fn refused(error: &RestoreError) -> Fault {
    match error {
        RestoreError::Unknown(_) => Fault::not_found(sentence(error)),
        RestoreError::File(_) => Fault::internal(format!("The session could not be restored: {error}.")),
        error => Fault::invalid_params(sentence(error)),
    }
}

fn sentence(error: &RestoreError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn failed(error: KeepError) -> Fault {
    Fault::internal(format!("The kept copies could not be used: {error}."))
}
