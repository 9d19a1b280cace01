//! The calls that read other agents' transcripts, and that label sessions and transcripts.

use super::{
    answer::Answer,
    calls::{Methods, list_answer, now},
    history,
    past_sessions::PastSessions,
};
use openagents_connection::{fault::Fault, rpc};
use openagents_sessions::{SessionError, run_blocking, store::Marks};
use openagents_transcripts::history::History;
use openagents_wire::{
    Empty, Excerpt, ExcerptQuery, FindLines, HistoryChange, LabelSession, ListHistory, Method, ReadHistory,
    ReadLine, SearchSessions, SessionName, UsageQuery, methods,
};
use serde_json::json;
use std::sync::Arc;

/// Maximum bytes of a title that the user enters.
const TITLE: usize = 500;

impl Methods {
    pub(super) async fn list_history(&self, page: ListHistory) -> Result<Answer, Fault> {
        let rows = self.past().rows_for(&self.lease.pass.who);
        self.with_history::<methods::HistoryList>(move |history| history::list(history, &rows, &page)).await
    }

    pub(super) async fn read_history(&self, part: ReadHistory) -> Result<Answer, Fault> {
        let rows = self.past().rows_for(&self.lease.pass.who);
        self.with_history::<methods::HistoryRead>(move |history| history::read_part(history, &rows, &part))
            .await
    }

    pub(super) async fn read_history_line(&self, line: ReadLine) -> Result<Answer, Fault> {
        self.with_history::<methods::HistoryLine>(move |history| history::raw_line(history, &line)).await
    }

    pub(super) async fn find_in_history(&self, find: FindLines) -> Result<Answer, Fault> {
        self.with_history::<methods::HistoryFind>(move |history| history::find_lines(history, &find)).await
    }

    pub(super) async fn search_sessions(&self, search: SearchSessions) -> Result<Answer, Fault> {
        let past = self.past().clone();
        let rows = past.rows_for(&self.lease.pass.who);
        past.scan_soon();
        self.with_history::<methods::SessionsSearch>(move |history| match search.logs {
            true => history::search_logs(history, &rows, &search),
            false => history::search(history, &rows, &search, past.progress(), |query, limit, now, near| {
                past.search(query, limit, now, near, history)
            }),
        })
        .await
    }

    /// Returns the report later: logs are read first, and the client's other calls do not wait for that.
    pub(super) fn usage(&self, query: UsageQuery) -> Result<Answer, Fault> {
        let (past, history) = (self.past().clone(), self.past().history_for(&self.lease.pass.who)?);
        Ok(Answer::Later(Box::pin(async move {
            let report = run_blocking(move || past.usage(&history, &query)).await.ok_or_else(stopped)??;
            Ok(rpc::value(&report))
        })))
    }

    /// Watches the list of other agents' transcripts for changes.
    pub(super) fn watch_history(&self) -> Result<Answer, Fault> {
        let who = &self.lease.pass.who;
        self.past().history_for(who)?;
        let feed = self.past().changes_for(who);
        // The client has read the current state with the list.
        Ok(Answer::AndWatch(json!({}), feed.clone(), feed.snapshot()))
    }

    pub(super) fn history_settings(&self, watch: bool) -> Answer {
        let feed = self.past().state();
        list_answer(watch, feed.snapshot_for(self.lease.pass.scope()), feed)
    }

    pub(super) async fn configure_history(&self, change: HistoryChange) -> Result<Answer, Fault> {
        self.change_history(move |past| past.change(change)).await
    }

    pub(super) async fn clear_history_index(&self) -> Result<Answer, Fault> {
        self.change_history(PastSessions::clear).await
    }

    /// Returns the conversation of a session as text.
    pub(super) async fn excerpt(&self, query: ExcerptQuery) -> Result<Answer, Fault> {
        let ExcerptQuery { session_id, provider, id } = query;
        let cwd = self.session(&session_id).await?.cwd().to_owned();
        let Some(provider) = provider else {
            let session = self.session(&id).await?;
            if session.cwd() != cwd {
                return Err(Fault::invalid_params("That is a session of another folder."));
            }
            let read = run_blocking(move || session.excerpt()).await;
            let text = read.ok_or_else(|| Fault::internal("The session could not be read."))?;
            let text = text.map_err(SessionError::from)?.unwrap_or_default();
            return now::<methods::SessionsExcerpt>(Excerpt { text });
        };
        let name = SessionName { provider, id };
        self.with_history::<methods::SessionsExcerpt>(move |history| history::excerpt(history, &name, &cwd))
            .await
    }

    /// Stores the user's label for a session or a transcript.
    pub(super) async fn label(&self, label: LabelSession) -> Result<Answer, Fault> {
        let LabelSession { provider, id, title, pinned, archived } = label;
        let title = title.map(|title| title.map(|title| short(&title)));
        let mark = move |marks: &mut Marks| {
            marks.pinned = pinned.unwrap_or(marks.pinned);
            marks.archived = archived.unwrap_or(marks.archived);
        };
        let Some(provider) = provider else {
            let session = self.session(&id).await?;
            match title {
                Some(Some(title)) if !title.is_empty() => session.rename(&title).await?,
                Some(_) => return Err(Fault::invalid_params("A title has one character at least.")),
                None => {}
            }
            if pinned.is_some() || archived.is_some() {
                session.mark(mark).await?;
            }
            return now::<methods::SessionsLabel>(Empty {});
        };
        let (past, provider) = (self.past().clone(), history::provider(&provider)?);
        self.with_history::<methods::SessionsLabel>(move |history| {
            past.label(history, &(provider, id), |label| {
                if let Some(title) = title {
                    label.title = title.filter(|title| !title.is_empty());
                }
                mark(&mut label.marks);
            })?;
            Ok(Empty {})
        })
        .await
    }

    pub(super) fn past(&self) -> &Arc<PastSessions> {
        &self.services.past_sessions
    }

    pub(super) async fn change_history(
        &self,
        change: impl FnOnce(&PastSessions) -> Result<(), Fault> + Send + 'static,
    ) -> Result<Answer, Fault> {
        let past = self.past().clone();
        run_blocking(move || change(&past)).await.ok_or_else(stopped)??;
        Ok(Answer::Now(self.past().state().snapshot_for(self.lease.pass.scope())))
    }

    /// Runs `read` with the history that this client may read.
    pub(super) async fn with_history<M: Method>(
        &self,
        read: impl FnOnce(&History) -> Result<M::Answer, Fault> + Send + 'static,
    ) -> Result<Answer, Fault> {
        let history = self.past().history_for(&self.lease.pass.who)?;
        // Long answers are turned into JSON on the same thread.
        let read = move || read(&history).map(|answer| rpc::value(&answer));
        run_blocking(read).await.ok_or_else(stopped)?.map(Answer::Now)
    }
}

pub(super) fn stopped() -> Fault {
    Fault::internal("Other agents' sessions could not be read.")
}

/// Returns a title on one line, cut to [`TITLE`] bytes.
fn short(title: &str) -> String {
    let line: Vec<&str> = title.split_whitespace().collect();
    openagents_core::text::prefix(&line.join(" "), TITLE).to_owned()
}
