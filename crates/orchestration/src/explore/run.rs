//! One run, from the plan to the final message.

use super::{
    explorer::{CANCELLED, ExploreOutcome, ExploreRequest, Explorer},
    intent::{self, Done},
    summary,
};
use crate::{
    plan::{Op, OpKind},
    survey::Survey,
};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    isolated::{self, Lost, Stage},
    update::{
        AgentMessage, EntryStatus, Findings, Overview, PlanSnapshot, RunState, SessionUpdate, Summary,
        ToolCall, ToolCallStatus, ToolCallUpdate, new_id,
    },
    workspace::Workspace,
};
use openagents_search::{find, overview};
use openagents_tools::tool::{ToolError, ToolOutput, Toolbox};
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Minimum interval between progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

impl Explorer {
    /// Runs on this thread and emits every step. Always emits exactly one final message, within 100 ms of a cancel.
    pub fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(SessionUpdate) + Sync),
    ) -> ExploreOutcome {
        let plan = PlanSnapshot {
            plan_id: request.plan_id.clone(),
            goals: request.goals.clone(),
            state: RunState::Running,
            entries: Vec::new(),
        };
        Run { explorer: self, request, cancel, emit, plan, summary: Summary::default(), ops: 0 }.finish()
    }
}

pub(super) struct Run<'a> {
    pub(super) explorer: &'a Explorer,
    pub(super) request: &'a ExploreRequest,
    pub(super) cancel: &'a CancellationToken,
    emit: &'a (dyn Fn(SessionUpdate) + Sync),
    pub(super) plan: PlanSnapshot,
    /// The summary so far.
    summary: Summary,
    /// Number of steps that ran.
    ops: usize,
}

impl Run<'_> {
    fn finish(mut self) -> ExploreOutcome {
        let (state, message) = match self.run() {
            Ok(message) => (RunState::Complete, message),
            Err(Stop::Cancelled) => (RunState::Cancelled, CANCELLED.to_owned()),
            Err(Stop::Failed(reason)) => (RunState::Failed, format!("❌ {reason}")),
        };
        if state != RunState::Complete {
            self.close_plan(state);
        }
        self.send(SessionUpdate::AgentMessage(AgentMessage {
            text: message.clone(),
            summary: (state == RunState::Complete).then(|| self.summary.clone()),
            ended: true,
            failed: state == RunState::Failed,
            ..AgentMessage::default()
        }));
        ExploreOutcome { state, summary: self.summary, ops: self.ops, message }
    }

    /// Returns the final message.
    fn run(&mut self) -> Result<String, Stop> {
        let workspace = self.open()?;
        self.summary.repository = workspace.name().to_owned();
        let survey = self.survey(workspace)?;
        let tools = Toolbox { history: survey.history.clone(), ..self.explorer.tools.clone() };
        let overview = self.start_overview(&survey);
        let ops = self.make_plan(&survey)?;
        self.send_plan();
        let mut done: Vec<Done> = Vec::with_capacity(ops.len());
        for (index, op) in ops.iter().enumerate() {
            self.check_cancelled()?;
            self.plan.entries[index].status = EntryStatus::InProgress;
            self.send_plan();
            let result = self.run_step(op, &tools, &survey.workspace);
            let entry = &mut self.plan.entries[index];
            entry.status = EntryStatus::Completed;
            entry.error = result.as_ref().err().map(ToString::to_string);
            done.push(Done { kind: op.kind.clone(), result });
            self.ops = done.len();
        }
        self.check_cancelled()?;
        if let Some(reason) = all_failed(&done) {
            return Err(Stop::Failed(reason));
        }
        self.plan.state = RunState::Complete;
        self.send_plan();
        self.send_findings(&survey.findings);
        let overview = overview.and_then(|overview| self.end_overview(overview));
        self.sum_up(&survey, done, overview)
    }

    /// Reads the workspace for an overview while the ops run; goals have findings instead.
    fn start_overview(&self, survey: &Arc<Survey>) -> Option<Stage<(), Overview>> {
        let (survey, cancel) = (Arc::clone(survey), self.cancel.child_token());
        let work = move |_: &_| {
            let budget = Budget::within(isolated::FILES, &cancel);
            overview(&survey.workspace, Some(&survey.history), &budget)
        };
        let without_goals = self.request.goals.is_empty();
        without_goals.then(|| Stage::start("overview", isolated::FILES, work).ok()).flatten()
    }

    /// Sends the overview. Without one the exploration still has its ops.
    fn end_overview(&self, stage: Stage<(), Overview>) -> Option<Overview> {
        let overview = match stage.wait(self.cancel, silence) {
            Ok(overview) => overview,
            Err(lost) => {
                if lost != Lost::Cancelled {
                    tracing::warn!(%lost, "no overview");
                }
                return None;
            }
        };
        if overview.blocks.is_empty() {
            return None;
        }
        self.send(SessionUpdate::AgentMessage(AgentMessage {
            text: overview.markdown(),
            message_id: Some(new_id()),
            is_overview: true,
            ..AgentMessage::default()
        }));
        Some(overview)
    }

    fn check_cancelled(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }

    /// Inspects the workspace once and finds the places that answer the goals.
    fn survey(&self, workspace: Arc<Workspace>) -> Result<Arc<Survey>, Stop> {
        // An exploration covers one workspace, and a model may plan it.
        let history = self.explorer.tools.history.of_workspace(workspace.root());
        let mut survey = Survey::new(workspace, &history);
        let goals = self.request.goals.clone();
        if goals.is_empty() {
            return Ok(Arc::new(survey));
        }
        let cancel = self.cancel.child_token();
        let work = move |_: &_| {
            survey.find(&goals, &Budget::within(find::TIME, &cancel));
            survey
        };
        Ok(Arc::new(isolated::run("find", isolated::FILES, self.cancel, work, silence)?))
    }

    fn open(&self) -> Result<Arc<Workspace>, Stop> {
        let root = self.request.root.clone();
        let opened =
            isolated::run("open", isolated::FILES, self.cancel, move |_| Workspace::open(&root), silence)?;
        opened.map(Arc::new).map_err(|error| Stop::Failed(error.to_string()))
    }

    fn run_step(
        &self,
        op: &Op,
        tools: &Toolbox,
        workspace: &Arc<Workspace>,
    ) -> Result<ToolOutput, ToolError> {
        self.send(SessionUpdate::ToolCall(ToolCall {
            call_id: op.id.clone(),
            name: op.kind.tool().to_owned(),
            arguments: op.kind.arguments(),
            op_hash: Some(op.kind.hash()),
            ..ToolCall::default()
        }));
        if takes_long(&op.kind) {
            self.send_call(&op.id, ToolCallStatus::Started { progress: 0.0, note: None });
        }
        let mut shown = Instant::now();
        let on_progress = |done: u64, total: u64| {
            if total > 0 && done < total && shown.elapsed() >= PROGRESS_EVERY {
                shown = Instant::now();
                let progress = done as f64 / total as f64;
                let note = Some(format!("processed {done}/{total}"));
                self.send_call(&op.id, ToolCallStatus::Started { progress, note });
            }
        };
        let result =
            tools.call(op.kind.tool(), op.kind.arguments().into(), workspace, self.cancel, on_progress);
        let status = match &result {
            Ok(output) => ToolCallStatus::Completed { output: output.to_json(), cut: output.cut },
            Err(error) => ToolCallStatus::Error { message: error.to_string() },
        };
        self.send_call(&op.id, status);
        result
    }

    fn sum_up(
        &mut self,
        survey: &Arc<Survey>,
        done: Vec<Done>,
        mut overview: Option<Overview>,
    ) -> Result<String, Stop> {
        let call_id = new_id();
        self.send(SessionUpdate::ToolCall(ToolCall {
            call_id: call_id.clone(),
            name: "fm.analysis".to_owned(),
            stage: Some("summary".to_owned()),
            ..ToolCall::default()
        }));
        self.send_call(&call_id, ToolCallStatus::Started { progress: 0.0, note: None });
        let wording = self.word(survey, &done, overview.as_ref());
        if let Some(overview) = &mut overview {
            wording.folders.iter().for_each(|(path, line)| overview.describe(path, line));
        }
        let work = {
            let (survey, cancel) = (Arc::clone(survey), self.cancel.child_token());
            move |_: &_| {
                let intent = intent::find(&survey, &done, wording.intent);
                summary::gather(&survey, &done, intent, overview, &cancel)
            }
        };
        let gathered = isolated::run("fm.analysis", isolated::FILES, self.cancel, work, silence);
        let gathered = if self.cancel.is_cancelled() { Err(Lost::Cancelled) } else { gathered };
        self.summary = gathered.inspect_err(|lost| {
            self.send_call(&call_id, ToolCallStatus::Error { message: lost.to_string() });
        })?;
        let bytes = self.summary.intent.as_ref().map_or(0, String::len);
        let mut output = json!({"summary_bytes": bytes, "source": self.summary.source.as_str()});
        if let Some(model) = &self.summary.model {
            output["model"] = model.as_str().into();
        }
        self.send_call(&call_id, ToolCallStatus::Completed { output, cut: Default::default() });
        Ok(summary::message(&self.summary, self.request.repository_note.as_deref()))
    }

    /// Closes the plan: steps that did not run are marked.
    fn close_plan(&mut self, state: RunState) {
        self.plan.state = state;
        for entry in &mut self.plan.entries {
            if entry.status != EntryStatus::Completed {
                entry.status = EntryStatus::Completed;
                entry.error = Some("not run".to_owned());
            }
        }
        if !self.plan.entries.is_empty() {
            self.send_plan();
        }
    }

    /// Emits the findings for the goals; nothing without goals.
    fn send_findings(&self, findings: &Findings) {
        if self.request.goals.is_empty() {
            return;
        }
        let findings = Findings { in_exploration: !self.request.answers_prompt, ..findings.clone() };
        self.send(SessionUpdate::AgentMessage(AgentMessage {
            text: findings.message(&self.request.goals.join(" ")),
            message_id: Some(new_id()),
            findings: Some(findings),
            ..AgentMessage::default()
        }));
    }

    fn send_plan(&self) {
        self.send(SessionUpdate::Plan(self.plan.clone()));
    }

    fn send_call(&self, call_id: &str, status: ToolCallStatus) {
        self.send(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id, status)));
    }

    fn send(&self, update: SessionUpdate) {
        (self.emit)(update);
    }
}

/// The reason why a run ends early.
pub(super) enum Stop {
    Cancelled,
    Failed(String),
}

impl From<Lost> for Stop {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Cancelled => Self::Cancelled,
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Callback for stages that emit no events.
pub(super) fn silence((): ()) {}

fn takes_long(kind: &OpKind) -> bool {
    matches!(kind, OpKind::SessionAnalyze { .. } | OpKind::SessionSearch { .. } | OpKind::Grep { .. })
}

fn all_failed(done: &[Done]) -> Option<String> {
    let errors: Vec<_> = done.iter().filter_map(|step| step.result.as_ref().err()).collect();
    match errors.first() {
        Some(first) if errors.len() == done.len() => Some(format!("Every step failed. The first: {first}")),
        _ => None,
    }
}
