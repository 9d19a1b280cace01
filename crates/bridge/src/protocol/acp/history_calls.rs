//! The calls that read other agents' sessions.

use super::{
    answer::Answer,
    calls::Methods,
    history::{self, HistoryLine, HistoryPage, HistoryPart, SessionSearch},
};
use crate::base::{error::Fault, pass::Who};
use openagents_core::history::History;
use openagents_sessions::run_blocking;

impl Methods {
    pub(super) async fn list_history(&self, page: HistoryPage) -> Result<Answer, Fault> {
        let history = self.history_here()?;
        run_blocking(move || history::list(&history, &page)).await.map(Answer::Now).ok_or_else(stopped)
    }

    pub(super) async fn read_history(&self, part: HistoryPart) -> Result<Answer, Fault> {
        let history = self.history_here()?;
        run_blocking(move || history::read(&history, &part)).await.ok_or_else(stopped)?.map(Answer::Now)
    }

    pub(super) async fn read_history_line(&self, line: HistoryLine) -> Result<Answer, Fault> {
        let history = self.history_here()?;
        run_blocking(move || history::line(&history, &line)).await.ok_or_else(stopped)?.map(Answer::Now)
    }

    pub(super) async fn search_sessions(&self, search: SessionSearch) -> Result<Answer, Fault> {
        let (history, index) = (self.history_here()?, self.services.history_index.clone());
        index.look();
        run_blocking(move || history::search(&history, &index, &search))
            .await
            .ok_or_else(stopped)?
            .map(Answer::Now)
    }

    /// Other agents' sessions stay on this computer.
    fn history_here(&self) -> Result<History, Fault> {
        match self.lease.pass.who {
            Who::Local => Ok(History::clone(self.services.sessions.history())),
            Who::Device(_) | Who::App(_) => {
                Err(Fault::invalid_request("Other agents' sessions are shown on their own computer only."))
            }
        }
    }
}

fn stopped() -> Fault {
    Fault::internal("Other agents' sessions could not be read.")
}
