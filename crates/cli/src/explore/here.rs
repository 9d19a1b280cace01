//! A run in this process.

use super::{Asked, News};
use crate::{
    local,
    record::{Record, Told},
};
use openagents_core::{
    CancellationToken,
    explore::{ExploreRequest, Explorer, PlannerChoice},
    history::{History, HistoryRoots, MemoryIndex, TranscriptIndex},
    model::LocalModels,
    update::{SessionUpdate, Title},
};
use std::{path::PathBuf, sync::Arc};
use tokio::sync::mpsc;
use uuid::Uuid;

pub(super) fn start(home: PathBuf, asked: Asked, cancel: CancellationToken, news: mpsc::Sender<News>) {
    tokio::task::spawn_blocking(move || run(&home, asked, &cancel, &news));
}

fn run(home: &std::path::Path, asked: Asked, cancel: &CancellationToken, news: &mpsc::Sender<News>) {
    let Asked { root, goals, planner } = asked;
    let (session_id, plan_id) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
    let begun = News::Started { session_id: session_id.clone(), plan_id: plan_id.clone() };
    if news.blocking_send(begun).is_err() {
        return;
    }
    // The reader is gone after a second Ctrl-C; the run ends by its own cancel.
    let tell = |told| {
        drop(news.blocking_send(match told {
            Told::Update(params) => News::Update(params),
            Told::Notice(text) => News::Notice(text),
        }));
    };
    let record = Record::open(home, session_id, (&root, "default_mode"), &tell, cancel);
    let index: Arc<dyn TranscriptIndex> = match &record.store {
        Some(store) => store.transcript_index(),
        None => Arc::new(MemoryIndex::default()),
    };
    let mut explorer = Explorer::heuristic(Arc::new(History::new(HistoryRoots::from_env(), index)));
    // `auto` uses a model only if it is in memory, which is never the case in a new process.
    let models = (planner == PlannerChoice::Model).then(|| match &record.store {
        Some(store) => local::start(Arc::new(openagents_bridge::Settings(store.clone())), None),
        None => local::start(Arc::new(local::Unkept), None),
    });
    match &models {
        Some(Ok(models)) => explorer.models.push(models.model()),
        Some(Err(error)) => tell(Told::Notice(format!("{error:#}"))),
        None => {}
    }
    let name =
        root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into());
    record.add(SessionUpdate::Title(Title { title: format!("Explore {name}") }));
    let request =
        ExploreRequest { root, goals, plan_id, repository_note: None, planner, answers_prompt: false };
    explorer.explore(&request, cancel, &|update| record.add(update));
    record.close();
    if let Some(Ok(models)) = models {
        models.shut_down();
    }
}
