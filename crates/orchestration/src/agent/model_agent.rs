//! A model as an agent: runs the agent loop, with the tools that need no session, for callers that don't run it.

use super::agent_loop::{AgentLoop, PromptRequest};
use openagents_core::{
    CancellationToken,
    agent::{AgentHost, AgentProvider, AgentRequest, OwnSession, PromptOutcome, SteerRequest},
    model::{Availability, LanguageModel, ModelOptions},
    update::{OptionValue, SessionOption},
};
use openagents_tools::tool::Toolbox;
use std::{path::Path, sync::Arc};

/// A model with the tools of a workspace.
#[derive(Debug, Clone)]
pub struct ModelAgent {
    /// Id of the provider, which is also its mode.
    pub id: String,
    pub name: String,
    /// Prompts do not leave this machine.
    pub local: bool,
    pub model: Arc<dyn LanguageModel>,
    /// Options of every request.
    pub options: ModelOptions,
    pub tools: Toolbox,
}

impl AgentProvider for ModelAgent {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_local(&self) -> bool {
        self.local
    }

    fn availability(&self) -> Availability {
        self.model.availability()
    }

    fn model(&self) -> Option<Arc<dyn LanguageModel>> {
        Some(Arc::clone(&self.model))
    }

    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        let agent = AgentLoop {
            model: Arc::clone(&self.model),
            options: self.options,
            tools: self.tools.clone(),
            session_tools: Vec::new(),
        };
        let turn = PromptRequest {
            root: request.root.clone(),
            text: request.text.clone(),
            words: None,
            transcript: request.transcript.clone(),
            findings: None,
            delegated: false,
        };
        agent.prompt(&turn, cancel, &|event| host.emit(event))
    }

    /// It has none.
    fn set_option(&self, _: &str, _: &str, _: &OptionValue) -> Result<Option<Vec<SessionOption>>, String> {
        Ok(None)
    }

    fn steer(&self, _: &SteerRequest) -> bool {
        false
    }

    fn own_sessions(&self, _: &Path, _: &CancellationToken) -> Result<Vec<OwnSession>, String> {
        Ok(Vec::new())
    }

    fn delete_own_session(&self, _: &Path, _: &str, _: &CancellationToken) -> Result<(), String> {
        Err("it keeps no sessions".to_owned())
    }

    fn stop_subagent(&self, _: &str, _: &str) -> bool {
        false
    }

    /// It asks before each.
    fn ask_before_edits(&self, _: &str) {}

    /// Does nothing: no process is kept running.
    fn close(&self, _session_id: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{Answer, Scripted, ask, speak, story};
    use openagents_core::{
        agent::{AccessLimits, AgentEvent, Conversation},
        approval::{ApprovalOutcome, ApprovalRequest, Approvals},
        model::StopReason,
        update::SessionUpdate,
    };
    use openagents_tools::{
        builtin::{self, testing::Bench},
        tool::{Tool, ToolContext, ToolError, ToolOutput},
    };
    use openagents_transcripts::history::History;
    use serde_json::{Value, json};
    use std::sync::Mutex;

    #[derive(Default)]
    struct Log(Mutex<Vec<SessionUpdate>>);

    impl Approvals for Log {
        fn ask(&self, _: ApprovalRequest, _: &CancellationToken) -> ApprovalOutcome {
            ApprovalOutcome::Cancelled
        }
    }

    impl AgentHost for Log {
        fn emit(&self, event: AgentEvent) {
            if let AgentEvent::Update(update) = event {
                self.0.lock().unwrap().push(update);
            }
        }
        fn remember(&self, _: &str) {}
    }

    /// Returns its context.
    #[derive(Debug)]
    struct Sees;

    impl Tool for Sees {
        fn name(&self) -> &'static str {
            "sees"
        }
        fn description(&self) -> &'static str {
            "For tests."
        }
        fn schema(&self) -> schemars::Schema {
            schemars::Schema::default()
        }
        fn call(&self, context: &ToolContext<'_>, _: Value) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::whole(json!([context.workspace.name()])))
        }
    }

    #[test]
    fn model_runs_turn_without_session_host() {
        let bench = Bench::with(&[]);
        let answers: [Answer; 2] = [
            |_, _, on_event| {
                on_event(ask("sees", json!({})));
                Ok(StopReason::ToolCalls)
            },
            |_, _, on_event| {
                on_event(speak("One file."));
                Ok(StopReason::EndTurn)
            },
        ];
        let tools = builtin::toolbox(Arc::new(History::empty()));
        let agent = ModelAgent {
            id: "custom:a".to_owned(),
            name: "A".to_owned(),
            local: true,
            model: Arc::new(Scripted { answers: answers.to_vec(), ..Scripted::default() }),
            options: ModelOptions::default(),
            tools: Toolbox { registry: tools.registry.clone().with(Arc::new(Sees)), ..tools },
        };
        let request = AgentRequest {
            images: Vec::new(),
            session_id: "s".to_owned(),
            root: bench.root().to_path_buf(),
            text: "What is here?".to_owned(),
            transcript: Conversation::default(),
            links: Vec::new(),
            tools: Vec::new(),
            resume: None,
            limits: AccessLimits::default(),
            may_change_approval_mode: false,
        };
        let log = Arc::new(Log::default());
        let outcome = agent.prompt(&request, log.clone(), &CancellationToken::new());
        assert_eq!(outcome.text, "One file.");
        let story = story(&log.0.lock().unwrap());
        assert_eq!(story, "call #1 sees {}\nend #1 [\"proj\"]\nmessage One file.");
    }
}
