//! Running one turn.

use super::{
    context::{CARD_TITLE, TurnContext, ask_for_agent, reader, refusal, show, transcript, transcript_for},
    delegate,
    host::Host,
    mentions, own_question,
    runner::Responder,
    trust,
};
use crate::{
    error::SessionError,
    live::{Card, Prompt, PromptContent, Reply, Session, TurnEnd, Work, close, final_message},
    modes::DEFAULT_MODE,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentRequest, CANCELLED, Conversation, PromptOutcome, end_turn},
    agent_ids::DELEGATE,
    approval::ApprovalState,
    budget::Budget,
    model::{LanguageModel, ModelOptions, PromptOptions},
    update::{
        Cut, Inline, RunState, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate,
    },
};
use openagents_orchestration::{
    agent::{AgentLoop, Generate, PromptRequest, SessionTool, inline},
    delegate::{DelegateReport, with_findings},
    explore::{CANCELLED as CANCELLED_EXPLORATION, ExploreRequest},
};
use openagents_search::find;
use openagents_tools::reading::Reader;
use serde_json::{Map, json};
use std::{path::Path, sync::Arc, time::Duration};

/// The final message of each prompt that was cancelled while queued.
pub(crate) const DROPPED: &str = "Cancelled before it began.";

/// Time limit for finding the session that an agent continues.
const FINDING: Duration = Duration::from_secs(2);

/// Maximum number of updates before the end of a session's first prompt: choices of modes and options, and a notice.
const FIRST_UPDATES: usize = 64;

pub(crate) fn run(
    turns: &TurnContext,
    work: &Result<Work, SessionError>,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> TurnEnd {
    let answered = |outcome: PromptOutcome| (outcome.state, outcome.cut_off);
    let (state, cut_off) = match work {
        Ok(Work::Exploration(request)) => (explore(turns, request, session, cancel), false),
        Ok(Work::Prompt(prompt)) => answered(answer(turns, prompt, session, cancel)),
        // Routing happens before the turn runs.
        Ok(Work::Choose(choice)) => (explore(turns, &choice.exploration, session, cancel), false),
        Ok(Work::Inline(reply)) => answered(reply_inline(turns, reply, session, cancel)),
        Ok(Work::Card(card)) => answered(run_card(turns, card, session, cancel)),
        Ok(Work::Delegate(delegation)) => (delegate::call(turns, delegation, session, cancel), false),
        Err(fault) => {
            session.append(vec![refusal(fault)]);
            (RunState::Failed, false)
        }
    };
    TurnEnd { cut_off, ..turn_end(session, state) }
}

fn explore(
    turns: &TurnContext,
    request: &ExploreRequest,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> RunState {
    // Queued turns have no prompt between them: separate ids keep their messages apart.
    let turn = uuid::Uuid::new_v4().to_string();
    let emit = |mut update| {
        if let SessionUpdate::AgentMessage(message) = &mut update {
            message.message_id.get_or_insert_with(|| turn.clone());
        }
        session.append(vec![update]);
    };
    turns.runner.explorer.explore(request, cancel, &emit).state
}

/// The final messages for a turn that was cancelled or panicked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub(crate) cancelled: &'static str,
    broken: &'static str,
}

impl Words {
    pub(crate) fn for_work(work: &Result<Work, SessionError>) -> Self {
        match work {
            Ok(Work::Prompt(_) | Work::Delegate(_) | Work::Choose(_) | Work::Inline(_) | Work::Card(_)) => {
                Self { cancelled: CANCELLED, broken: "the answer ended unexpectedly" }
            }
            Ok(Work::Exploration(_)) | Err(_) => {
                Self { cancelled: CANCELLED_EXPLORATION, broken: "the exploration ended unexpectedly" }
            }
        }
    }
}

/// Ends a turn that was cancelled before it started. Its prompt is in the log and needs an answer; a delegation's call
/// id was sent to a client, so the call needs a start and an end. Blocks.
pub(crate) fn close_unstarted(
    turns: &TurnContext,
    work: &Result<Work, SessionError>,
    session: &Arc<Session>,
    last_word: &str,
) -> TurnEnd {
    match work {
        Ok(Work::Delegate(delegation)) => {
            let cancelled = CancellationToken::new();
            cancelled.cancel();
            delegate::call(turns, delegation, session, &cancelled);
        }
        _ => session.append(vec![final_message(last_word, RunState::Cancelled)]),
    }
    turn_end(session, RunState::Cancelled)
}

/// Closes the unfinished work of a turn that panicked, and reports the failure. Blocks.
pub(crate) fn close_panicked(session: &Arc<Session>, words: Words) -> TurnEnd {
    session.set_activity(None);
    let mut closing = close(&session.open_work(), words.broken, &ApprovalState::Expired);
    closing.push(refusal(&SessionError::internal(words.broken)));
    session.append(closing);
    let end = turn_end(session, RunState::Failed);
    TurnEnd { failure: end.failure.or_else(|| Some(words.broken.to_owned())), ..end }
}

fn turn_end(session: &Arc<Session>, state: RunState) -> TurnEnd {
    session.settle();
    let head = session.head();
    let failure = head.failure.map(|failure| failure.message);
    let state = if failure.is_some() { RunState::Failed } else { state };
    TurnEnd { state, cut_off: false, seq: head.seq, failure }
}

pub(crate) fn answer(
    turns: &TurnContext,
    prompt: &Prompt,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let found = match &prompt.options.model {
        Some(named) => turns.runner.named_model(named),
        None => turns.runner.responder(&prompt.provider),
    };
    let who = found.and_then(|who| match session.parent().is_some() {
        true => check_folder(&prompt.root).map(|()| who),
        false => Ok(who),
    });
    match who {
        Ok(Responder::Model(model, _)) if !prompt.content.images.is_empty() => {
            let text = format!("❌ {} cannot see images. Choose an agent for this prompt.", model.name());
            end_turn(&|event| show(session, event), RunState::Failed, text)
        }
        Ok(Responder::Model(model, settings)) => {
            let reader = reader(session, model.as_ref());
            let settings = prompt.options.applied_to(settings);
            let agent = agent_loop(turns, session, reader, &prompt.root, (model, settings));
            let transcript = transcript_for(reader, &prompt.provider, session, cancel);
            let (root, PromptContent { text, words, .. }) = (prompt.root.clone(), prompt.content.clone());
            let delegated = session.parent().is_some();
            let request = PromptRequest { root, text, words, transcript, findings: None, delegated };
            agent.prompt(&request, cancel, &|event| show(session, event))
        }
        Ok(Responder::Agent(agent)) => {
            let may_start = own_question::check_words(session, agent.as_ref(), &prompt.content)
                .and_then(|()| trust::gate(turns, session, agent.as_ref(), prompt, cancel))
                .and_then(|()| own_question::gate(turns, session, agent.as_ref(), &prompt.root, cancel));
            if let Err(outcome) = may_start {
                return outcome;
            }
            let images = match turns.store().images_of(session.id(), &prompt.content.images) {
                Ok(images) => images,
                Err(error) => {
                    let text = format!("❌ The images of the prompt could not be read: {error}");
                    return end_turn(&|event| show(session, event), RunState::Failed, text);
                }
            };
            let host = Host::new(turns, session, agent.id());
            let request = AgentRequest {
                images,
                session_id: session.id().to_string(),
                root: prompt.root.clone(),
                text: text_for_agent(turns, session, &host, prompt),
                tools: turns.tools_for(session.cwd(), agent.id()),
                links: mentions::named_files(&prompt.root, prompt.content.words()),
                // Hosted agents keep their own history; models take the branch above.
                transcript: Conversation::default(),
                resume: host.agent_session.clone(),
                limits: session.limits().clone(),
                may_change_approval_mode: prompt.content.may_change_approval_mode,
            };
            Host::run(&host, || agent.prompt(&request, host.clone(), cancel))
        }
        Err(reason) => end_turn(&|event| show(session, event), RunState::Failed, format!("❌ {reason}")),
    }
}

/// Returns the text of a prompt. The first one in a session that its agent began in a folder that was moved since says so.
fn text_for_agent(turns: &TurnContext, session: &Session, host: &Host, prompt: &Prompt) -> String {
    let text = &prompt.content.text;
    let former = || {
        let own = host.agent_session.as_ref().filter(|_| is_first_prompt(turns, session))?;
        let budget = Budget::within(FINDING, &CancellationToken::new());
        turns.runner.tools.history.former_folder(host.agent_id(), &own.id, &budget)
    };
    match former() {
        Some(old) => {
            let (old, now) = (old.display(), session.cwd().display());
            format!("This folder was {old}; it is now {now}.\n\n{text}")
        }
        None => text.clone(),
    }
}

fn is_first_prompt(turns: &TurnContext, session: &Session) -> bool {
    let log = turns.store().updates_after(session.id(), 0, FIRST_UPDATES).unwrap_or_default();
    let prompts = log.iter().filter(|row| matches!(row.update, SessionUpdate::UserMessage(_)));
    log.len() < FIRST_UPDATES && prompts.count() <= 1
}

/// Checks a delegate's folder again: since the task was given, an agent may have replaced it with a link that leads out
/// of the workspace.
fn check_folder(root: &Path) -> Result<(), String> {
    match root.canonicalize() {
        Ok(now) if now == root => Ok(()),
        _ => Err(format!("{} was replaced after the task was given.", root.display())),
    }
}

/// Returns the loop of a model that reads as `reader`, with the tools that need a session.
fn agent_loop(
    turns: &TurnContext,
    session: &Arc<Session>,
    reader: Reader,
    root: &Path,
    (model, options): (Arc<dyn LanguageModel>, ModelOptions),
) -> AgentLoop {
    let generate = turns.runner.models.as_ref().map(|models| {
        let options = models.snapshot().settings.options();
        Arc::new(Generate { model: models.model(), options }) as Arc<dyn SessionTool>
    });
    let tools = generate.into_iter().chain(delegate::tools(turns, session, reader));
    let session_tools = tools.filter(|tool| tool.is_offered_to(model.as_ref())).collect();
    AgentLoop { session_tools, model, options, tools: turns.tools(reader, root) }
}

/// Shows the "This is work for an agent" card with the brief, and runs the agent that the user chooses. Blocks.
pub(crate) fn run_card(
    turns: &TurnContext,
    card: &Card,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let emit = |event| show(session, event);
    let words = card.content.words();
    let history = turns.history_of(&card.root);
    let mut found = find::find_in(&card.root, Some(history), words, cancel).unwrap_or_else(|error| {
        tracing::warn!(%error, "could not search for a card");
        Default::default()
    });
    // A task may name files that do not exist yet.
    found.missing.clear();
    if !found.findings.is_empty() {
        inline::show(&emit, &found, words, false);
    }
    let brief = with_findings(&card.content.text, &found.findings, true);
    let call_id = uuid::Uuid::new_v4().to_string();
    let arguments = Map::from_iter([("user_prompt".to_owned(), json!(brief))]);
    emit(AgentEvent::Update(SessionUpdate::ToolCall(ToolCall {
        call_id: call_id.clone(),
        name: DELEGATE.to_owned(),
        arguments,
        details: ToolCallDetails { title: Some(CARD_TITLE.to_owned()), ..ToolCallDetails::default() },
        ..ToolCall::default()
    })));
    let offered = turns.situation(session).offered(Some(&card.decision.target));
    let mut question = json!({"brief": brief, "prompt": card.content.text});
    if let Some(words) = &card.content.words {
        question["words"] = json!(words);
    }
    if !card.content.images.is_empty() {
        question["images"] = json!(card.content.images);
    }
    let chosen = ask_for_agent(turns, session, &call_id, (question, DEFAULT_MODE), &offered, cancel);
    let end = |status| {
        emit(AgentEvent::Update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(&call_id, status))));
    };
    let Some(chosen) = chosen else {
        let (state, why, last) = match cancel.is_cancelled() {
            true => (RunState::Cancelled, "Cancelled", CANCELLED),
            false => (RunState::Complete, "Not now", "Not sent to an agent."),
        };
        end(ToolCallStatus::Error { message: why.to_owned() });
        return end_turn(&emit, state, last.to_owned());
    };
    let report = DelegateReport {
        ok: true,
        provider: chosen.id.clone(),
        dispatched: true,
        session_id: Some(session.id().to_string()),
        tool_call_id: call_id.clone(),
        notes: format!("{} answers in this session.", chosen.name),
    };
    let output = serde_json::to_value(&report).unwrap_or_default();
    end(ToolCallStatus::Completed { output, cut: Cut::default() });
    // The user has read the brief. That is enough to send it to an agent, but not to a model elsewhere.
    let brief = match turns.may_get_history(&chosen.id) {
        true => brief,
        false => with_findings(&card.content.text, &found.findings, false),
    };
    let prompt = Prompt {
        provider: chosen.id,
        root: card.root.clone(),
        content: PromptContent {
            may_change_approval_mode: card.content.may_change_approval_mode,
            images: card.content.images.clone(),
            ..PromptContent::from(brief)
        },
        options: PromptOptions::default(),
    };
    answer(turns, &prompt, session, cancel)
}

/// Answers with a fixed reply, or with findings and a local model.
pub(crate) fn reply_inline(
    turns: &TurnContext,
    reply: &Reply,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let (situation, runner) = (turns.situation(session), &turns.runner);
    let emit = |event| show(session, event);
    let words = reply.content.words();
    if reply.decision.inline == Some(Inline::Card) {
        let offered = situation.offered(Some(&reply.decision.target));
        let name = offered.first().map_or("an agent", |agent| agent.name.as_str());
        let text = format!("This is work for an agent. Pick {name} in the mode menu and send it again.");
        return end_turn(&emit, RunState::Complete, text);
    }
    let transcript = transcript(session, cancel);
    let find = || {
        let found = find::find_in(&reply.root, Some(turns.history_of(&reply.root)), words, cancel);
        found.map_err(|error| tracing::warn!(%error, "the search failed")).ok()
    };
    let asks = reply.decision.inline == Some(Inline::Find);
    if let Some((model, options)) = runner.ready_model().filter(|_| asks) {
        let found = find().filter(|found| !found.findings.is_empty());
        if let Some(found) = &found {
            inline::show(&emit, found, words, false);
        }
        let reader = reader(session, model.as_ref());
        let agent = agent_loop(turns, session, reader, &reply.root, (model, options));
        let request = PromptRequest {
            root: reply.root.clone(),
            text: reply.content.text.clone(),
            words: reply.content.words.clone(),
            transcript,
            findings: found,
            delegated: session.parent().is_some(),
        };
        return agent.prompt(&request, cancel, &emit);
    }
    if reply.only_findings
        && let Some(found) = find()
    {
        let text = inline::show(&emit, &found, words, true);
        return PromptOutcome::new(RunState::Complete, text);
    }
    let question = inline::InlineQuestion { prompt: words, decision: &reply.decision, situation: &situation };
    inline::answer(&question, &find, &emit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delegate_rejects_folder_replaced_by_link() {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap().join("part");
        std::fs::create_dir(&root).unwrap();
        assert_eq!(check_folder(&root), Ok(()));
        std::fs::remove_dir(&root).unwrap();
        std::os::unix::fs::symlink("/", &root).unwrap();
        assert!(check_folder(&root).is_err());
        std::fs::remove_file(&root).unwrap();
        assert!(check_folder(&root).is_err());
    }
}
