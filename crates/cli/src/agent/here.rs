//! A turn of the local model in this process.

use super::{Asked, News};
use crate::{
    local,
    record::{Record, Told},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentLoop, PromptOutcome, PromptRequest, Transcript},
    history::{History, HistoryRoots, MemoryIndex, TranscriptIndex},
    model::{LOCAL_MODEL, LocalModels, ModelSettings, SettingsStore},
    tool::Toolbox,
    update::{RunState, SessionUpdate, Title, UserMessage},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::mpsc;
use uuid::Uuid;

/// Characters of a title made from a prompt.
const TITLE: usize = 60;

pub(super) fn start(home: PathBuf, asked: Asked, cancel: CancellationToken, news: mpsc::Sender<News>) {
    tokio::task::spawn_blocking(move || {
        let session_id = Uuid::new_v4().to_string();
        let _ = news.blocking_send(News::Started(session_id.clone()));
        let outcome = run(&home, &session_id, asked, &cancel, &news);
        let _ = news.blocking_send(News::Ended(Box::new(outcome)));
    });
}

fn run(
    home: &Path,
    session_id: &str,
    asked: Asked,
    cancel: &CancellationToken,
    news: &mpsc::Sender<News>,
) -> PromptOutcome {
    // The reader is gone after a second Ctrl-C; the run ends by its own cancel.
    let send = |heard| drop(news.blocking_send(heard));
    let tell = |told| {
        send(match told {
            Told::Update(params) => News::Update(params),
            Told::Notice(text) => News::Notice(text),
        });
    };
    let Asked { prompt, root, model, temperature, max_tokens } = asked;
    let record = Record::open(home, session_id.to_owned(), (&root, LOCAL_MODEL), &tell, cancel);
    let (index, settings): (Arc<dyn TranscriptIndex>, Arc<dyn SettingsStore>) = match &record.store {
        Some(store) => (store.transcript_index(), Arc::new(store.clone())),
        None => (Arc::new(MemoryIndex::default()), Arc::new(local::Unkept)),
    };
    let models = match local::start(settings, model) {
        Ok(models) => models,
        Err(error) => {
            let text = format!("❌ {error:#}");
            return PromptOutcome { state: RunState::Failed, text, usage: None, cut_off: false };
        }
    };
    record.add(SessionUpdate::UserMessage(UserMessage { text: prompt.clone(), connection: None }));
    let words = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    record.add(SessionUpdate::Title(Title { title: crate::output::first_words(&words, TITLE) }));
    let kept = models.snapshot().settings;
    let chosen = ModelSettings {
        temperature: temperature.unwrap_or(kept.temperature),
        max_tokens: max_tokens.or(kept.max_tokens),
        ..kept
    };
    let agent = AgentLoop {
        model: models.model(),
        options: chosen.options(),
        tools: Toolbox::exploration(Arc::new(History::new(HistoryRoots::from_env(), index))),
        session_tools: Vec::new(),
    };
    let request = PromptRequest { root, text: prompt, transcript: Transcript::default() };
    let outcome = agent.prompt(&request, cancel, &|event| match event {
        AgentEvent::Update(update) => record.add(update),
        AgentEvent::Activity(activity) => send(News::Activity(activity)),
    });
    record.close();
    models.shut_down();
    outcome
}
