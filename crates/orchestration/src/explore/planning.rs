//! Plans a run and words its result, with rules or a model.

use super::{
    explorer::PlannerChoice,
    intent::{self, Done},
    run::{Run, Stop, silence},
    wording::{self, Wording},
};
use crate::{
    plan::{ModelPlanner, Op, PlanError, PlanRequest, Planner, normalise},
    survey::Survey,
};
use openagents_core::{
    budget::Budget,
    isolated,
    update::{EntryStatus, Overview, PlanEntry},
};
use std::{sync::Arc, time::Duration};

impl Run<'_> {
    pub(super) fn make_plan(&mut self, survey: &Arc<Survey>) -> Result<Vec<Op>, Stop> {
        let choice = self.request.planner;
        let by_rules = || self.ask_planner(self.explorer.planner.clone(), isolated::FILES, survey);
        let ops = match self.explorer.model_for(choice) {
            None if choice == PlannerChoice::Model => {
                return Err(Stop::Failed("no plan: no local model is set up here".to_owned()));
            }
            None => by_rules()?,
            Some(model) => {
                let planner = Arc::new(ModelPlanner { model: model.clone() });
                match self.ask_planner(planner, isolated::MODEL, survey) {
                    Err(Stop::Failed(reason)) if choice == PlannerChoice::Auto => {
                        tracing::warn!(reason, "the model made no plan; falling back to the rules");
                        by_rules()?
                    }
                    other => other?,
                }
            }
        };
        self.plan.entries = ops.iter().map(pending).collect();
        Ok(ops)
    }

    fn ask_planner(
        &self,
        planner: Arc<dyn Planner>,
        limit: Duration,
        survey: &Arc<Survey>,
    ) -> Result<Vec<Op>, Stop> {
        let cancel = self.cancel.child_token();
        // An abandoned planner stops as well.
        let _stops_it = cancel.clone().drop_guard();
        let (survey, goals) = (Arc::clone(survey), self.request.goals.clone());
        let work = move |_: &_| {
            let request = PlanRequest { goals: &goals, survey: &survey, cancel: &cancel };
            planner.plan(&request).map(|kinds| normalise(kinds, &survey.workspace))
        };
        let planned = isolated::run("plan", limit, self.cancel, work, silence)?;
        // The planner may observe a cancel before the waiting thread.
        let failed = |error: PlanError| match self.cancel.is_cancelled() {
            true => Stop::Cancelled,
            false => Stop::Failed(error.to_string()),
        };
        planned.map_err(failed)
    }

    /// Asks a model to answer the goals if one is in memory, or to word the overview if one was requested. Failures are
    /// ignored: what was found is an answer without words.
    pub(super) fn word(&self, survey: &Arc<Survey>, done: &[Done], overview: Option<&Overview>) -> Wording {
        let answers = !survey.findings.findings.is_empty();
        let choice = match self.request.planner {
            PlannerChoice::Heuristic if answers => PlannerChoice::Auto,
            choice => choice,
        };
        let Some(model) = self.explorer.model_for(choice).cloned() else { return Wording::default() };
        // The sentence of a session would be preferred.
        if !answers && overview.is_none() && intent::from_sessions(done).is_some() {
            return Wording::default();
        }
        let cancel = self.cancel.child_token();
        let _stops_it = cancel.clone().drop_guard();
        let (survey, goals, overview) = (Arc::clone(survey), self.request.goals.clone(), overview.cloned());
        let work = move |_: &_| {
            if answers {
                let intent = wording::answer(model.as_ref(), &survey, &goals, &cancel);
                return Wording { intent, ..Wording::default() };
            }
            // Goals for which nothing was found.
            let overview = overview.unwrap_or_else(|| {
                let budget = Budget::within(isolated::FILES, &cancel);
                openagents_search::overview(&survey.workspace, Some(&survey.history), &budget)
            });
            wording::word(model.as_ref(), &overview, &cancel)
        };
        isolated::run("words", isolated::MODEL, self.cancel, work, silence).unwrap_or_default()
    }
}

fn pending(op: &Op) -> PlanEntry {
    PlanEntry {
        content: op.text.clone(),
        status: EntryStatus::Pending,
        op_id: op.id.clone(),
        op_hash: op.kind.hash(),
        tool: op.kind.tool().to_owned(),
        error: None,
    }
}
