//! The "This is work for an agent" card: the user sees the brief and chooses the agent.

use super::{
    agent_choice::{TITLE, ask},
    answer,
    context::{TurnContext, show},
};
use crate::{
    live::{Card, Prompt, Said, Session, word},
    modes::DEFAULT_MODE,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, CANCELLED, PromptOutcome},
    agent_ids::DELEGATE,
    model::PromptOptions,
    update::{Cut, RunState, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate},
};
use openagents_orchestration::{
    agent::inline,
    delegate::{DelegateReport, with_findings},
};
use openagents_search::find;
use serde_json::{Map, json};
use std::sync::Arc;

/// Shows the card and runs the chosen agent. Blocks.
pub(crate) fn put(
    turns: &TurnContext,
    card: &Card,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let emit = |event| show(session, event);
    let words = card.said.words();
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
    let brief = with_findings(&card.said.text, &found.findings, true);
    let call_id = uuid::Uuid::new_v4().to_string();
    let arguments = Map::from_iter([("user_prompt".to_owned(), json!(brief))]);
    emit(AgentEvent::Update(SessionUpdate::ToolCall(ToolCall {
        call_id: call_id.clone(),
        name: DELEGATE.to_owned(),
        arguments,
        op_hash: None,
        stage: None,
        details: ToolCallDetails { title: Some(TITLE.to_owned()), ..ToolCallDetails::default() },
    })));
    let offered = turns.situation(session).offered(Some(&card.decision.target));
    let mut question = json!({"brief": brief, "prompt": card.said.text});
    if let Some(words) = &card.said.words {
        question["words"] = json!(words);
    }
    let chosen = ask(turns, session, &call_id, (question, DEFAULT_MODE), &offered, cancel);
    let end = |status| {
        emit(AgentEvent::Update(SessionUpdate::ToolCallUpdate(ToolCallUpdate {
            call_id: call_id.clone(),
            status,
            late: false,
            details: ToolCallDetails::default(),
        })));
    };
    let Some(chosen) = chosen else {
        let (state, why, last) = match cancel.is_cancelled() {
            true => (RunState::Cancelled, "Cancelled", CANCELLED),
            false => (RunState::Complete, "Not now", "Not sent to an agent."),
        };
        end(ToolCallStatus::Error { message: why.to_owned() });
        session.append(vec![word(last, state)]);
        return PromptOutcome { state, text: last.to_owned(), usage: None, cut_off: false };
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
        false => with_findings(&card.said.text, &found.findings, false),
    };
    let prompt = Prompt {
        provider: chosen.id,
        root: card.root.clone(),
        said: Said { may_lower: card.said.may_lower, ..Said::from(brief) },
        options: PromptOptions::default(),
    };
    answer::answer(turns, &prompt, session, cancel)
}
