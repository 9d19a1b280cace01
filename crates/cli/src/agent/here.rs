//! A turn in this process.

use super::{Asked, Choice, News};
use crate::{
    local,
    record::{Record, Told},
};
use openagents_agents::openai::OpenAi;
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentLoop, PromptOutcome, PromptRequest, Transcript, inline},
    agent_ids::LOCAL_MODEL,
    builtin, find,
    history::{History, HistoryRoots, MemoryIndex, TranscriptIndex},
    model::{Availability, LanguageModel, LocalModels, ModelSettings, SettingsStore},
    update::{AgentMessage, RunState, SessionUpdate, Title, UserMessage},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::mpsc;
use uuid::Uuid;

/// The mode of a session without a chosen agent.
const DEFAULT_MODE: &str = "default_mode";

/// Longest title made from a prompt, in characters.
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
    let Asked { prompt, root, is_question, choice, temperature, max_tokens } = asked;
    // A model named for one prompt is not a mode.
    let mode = if is_question || matches!(choice, Choice::OpenAi(_)) { DEFAULT_MODE } else { LOCAL_MODEL };
    let record = Record::open(home, session_id.to_owned(), (&root, mode), &tell, cancel);
    let (index, settings): (Arc<dyn TranscriptIndex>, Arc<dyn SettingsStore>) = match &record.store {
        Some(store) => (store.transcript_index(), Arc::new(openagents_bridge::Settings(store.clone()))),
        None => (Arc::new(MemoryIndex::default()), Arc::new(local::Unkept)),
    };
    let model = match Model::start(choice, settings) {
        Ok(model) => model,
        Err(error) => {
            let text = format!("❌ {error:#}");
            return PromptOutcome { state: RunState::Failed, text, usage: None, cut_off: false };
        }
    };
    record.add(SessionUpdate::UserMessage(UserMessage { text: prompt.clone(), ..UserMessage::default() }));
    let words = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    record.add(SessionUpdate::Title(Title { title: crate::output::first_words(&words, TITLE) }));
    let kept = model.settings();
    let chosen = ModelSettings {
        temperature: temperature.unwrap_or(kept.temperature),
        max_tokens: max_tokens.or(kept.max_tokens),
        ..kept
    };
    let emit = |event| match event {
        AgentEvent::Update(update) => record.add(update),
        AgentEvent::Activity(activity) => send(News::Activity(activity)),
    };
    let history = Arc::new(History::new(HistoryRoots::from_env(), index));
    let language_model = model.language_model();
    let is_ready = language_model.availability() == Availability::Ready;
    let found = is_question.then(|| find::find_in(&root, Some(history.clone()), &prompt, cancel)).transpose();
    let outcome = match found {
        Err(error) => failed(&emit, &error),
        Ok(Some(found)) if !is_ready || found.findings.is_empty() => {
            let text = inline::show(&emit, &found, &prompt, true);
            PromptOutcome { state: RunState::Complete, text, usage: None, cut_off: false }
        }
        Ok(findings) => {
            if let Some(found) = &findings {
                inline::show(&emit, found, &prompt, false);
            }
            let agent = AgentLoop {
                model: language_model,
                options: chosen.options(),
                tools: builtin::toolbox(history),
                session_tools: Vec::new(),
            };
            let transcript = Transcript::default();
            let request =
                PromptRequest { root, text: prompt, words: None, transcript, findings, delegated: false };
            agent.prompt(&request, cancel, &emit)
        }
    };
    record.close();
    model.shut_down();
    outcome
}

fn failed(emit: &dyn Fn(AgentEvent), error: &dyn std::fmt::Display) -> PromptOutcome {
    let text = format!("❌ {error}");
    emit(AgentEvent::Update(SessionUpdate::AgentMessage(AgentMessage {
        text: text.clone(),
        ended: true,
        ..AgentMessage::default()
    })));
    PromptOutcome { state: RunState::Failed, text, usage: None, cut_off: false }
}

/// The model of one turn.
enum Model {
    Local(Arc<openagents_llama::Local>),
    OpenAi(Arc<OpenAi>),
}

impl Model {
    fn start(choice: Choice, settings: Arc<dyn SettingsStore>) -> anyhow::Result<Self> {
        Ok(match choice {
            Choice::InUse => Self::Local(local::start(settings, None)?),
            Choice::File(file) => Self::Local(local::start(settings, Some(file))?),
            Choice::OpenAi(model) => Self::OpenAi(model),
        })
    }

    fn language_model(&self) -> Arc<dyn LanguageModel> {
        match self {
            Self::Local(models) => models.model(),
            Self::OpenAi(model) => Arc::clone(model) as Arc<dyn LanguageModel>,
        }
    }

    /// The settings apply only to the local model.
    fn settings(&self) -> ModelSettings {
        match self {
            Self::Local(models) => models.snapshot().settings,
            Self::OpenAi(_) => ModelSettings::default(),
        }
    }

    fn shut_down(&self) {
        if let Self::Local(models) = self {
            models.shut_down();
        }
    }
}
