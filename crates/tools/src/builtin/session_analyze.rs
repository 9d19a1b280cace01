//! The tool `session.analyze`: summarises the sessions of this workspace.

use super::{
    session_list::{provider, provider_schema},
    typed::TypedTool,
};
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use openagents_core::{
    budget::Budget,
    git::WorktreeScope,
    parallel,
    update::{Cut, Evidence},
    workspace::Workspace,
};
use openagents_transcripts::history::{self, Digest, Fact, Query, Transcript};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::Path,
};

/// More threads would slow down running agents.
const THREADS: usize = 2;
/// Maximum number of names in a frequency table.
const FREQUENCIES: usize = 100;
/// Maximum number of evidence entries for an intent.
const EVIDENCE: usize = 3;

/// Summary of past sessions. Metrics that were not requested are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionAnalyzeOutput {
    /// Sessions that edited a file, by path relative to the workspace or as logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_frequency: Option<Frequencies>,
    /// Calls by tool name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_frequency: Option<Frequencies>,
    /// Distinct prompts, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_patterns: Option<Vec<String>>,
    /// Mean number of events per session; absent without sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avg_conversation_length: Option<f64>,
    /// The user's intent in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_intent: Option<String>,
    /// Evidence for the intent; not empty if there is an intent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// Names with their counts in descending order; serialized as an object in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frequencies(pub Vec<(String, u64)>);

impl Serialize for Frequencies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, count)| (name, count)))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Only these sessions; the recent ones of this workspace when left out or empty.
    session_ids: Option<Vec<String>>,
    #[serde(default)]
    #[schemars(schema_with = "provider_schema")]
    provider: Option<String>,
    /// Any of `files`, `tools`, `goals`; all of them when left out or empty.
    metrics: Option<Vec<String>>,
}

pub(super) fn session_analyze() -> impl Tool {
    TypedTool {
        name: "session.analyze",
        description: "Says what the recent sessions in this workspace were about: goals, files, tools, and one sentence of intent.",
        run,
    }
}

fn run(context: &ToolContext<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let budget = context.budget(context.limits.analyze_time);
    let ids = arguments.session_ids.unwrap_or_default();
    let metrics = arguments.metrics.unwrap_or_default();
    let wants = |metric: &str| metrics.is_empty() || metrics.iter().any(|wanted| wanted == metric);
    let targets = match provider(arguments.provider.as_deref()) {
        Some(provider) if ids.is_empty() => {
            let query = Query {
                provider,
                workspace: Some(context.workspace.root().to_owned()),
                limit: context.limits.analyze_sessions,
                ..Query::default()
            };
            context.history.list(&query, &budget)
        }
        Some(provider) => {
            let ids = ids.iter().take(context.limits.analyze_sessions).map(String::as_str);
            let ids: Vec<&str> = ids.collect();
            let mut rows = context.history.find_each(&ids, provider, &budget);
            rows.sort_by_key(|row| std::cmp::Reverse(row.updated_at));
            history::Listing { rows, ..history::Listing::default() }
        }
        None => history::Listing::default(),
    };
    budget.check_cancelled()?;
    let digests = digest_all(context, &targets.rows, &budget);
    budget.check_cancelled()?;
    let missing = digests.iter().filter(|digest| digest.is_none()).count() as u64;
    let timed_out = targets.timed_out || budget.timed_out();
    let mut analysis = Analysis::new(context.workspace);
    let pairs: Vec<_> = targets
        .rows
        .iter()
        .zip(&digests)
        .filter_map(|(row, digest)| digest.as_ref().map(|digest| (row, digest)))
        .collect();
    // Oldest first, so that lines copied by a resumed session count for the original.
    for (row, digest) in pairs.iter().rev() {
        analysis.add(row, digest);
    }
    let events: u64 = pairs.iter().map(|(_, digest)| digest.events).sum();
    let (user_intent, evidence) = analysis.intent().unzip();
    let result = SessionAnalyzeOutput {
        file_frequency: wants("files").then(|| frequencies(&analysis.files)),
        tool_frequency: wants("tools").then(|| frequencies(&analysis.tools)),
        goal_patterns: wants("goals").then(|| analysis.goals(context.limits.analyze_goals)),
        avg_conversation_length: (!pairs.is_empty()).then(|| events as f64 / pairs.len() as f64),
        user_intent,
        evidence: evidence.unwrap_or_default(),
    };
    let unread = targets.unread as u64;
    let omitted = unread + missing + pairs.iter().map(|(_, digest)| digest.omitted).sum::<u64>();
    // Older sessions of the workspace were not requested, so leaving them out is not a cut.
    let truncated = pairs.iter().any(|(_, digest)| digest.partial);
    Ok(ToolOutput::new(result, Cut { truncated, timed_out, omitted }))
}

fn digest_all(context: &ToolContext<'_>, rows: &[Transcript], budget: &Budget) -> Vec<Option<Digest>> {
    let done = Mutex::new(0);
    let digest = |(): &mut (), at: usize| {
        let digest = context.history.digest(&rows[at], budget).ok();
        // Holds the lock, so that progress is reported in order.
        let mut done = done.lock();
        *done += 1;
        context.progress.report(*done, rows.len() as u64);
        digest
    };
    parallel::map(rows.len(), THREADS, || !budget.spent(), || (), digest)
}

struct Analysis<'a> {
    workspace: &'a Workspace,
    scope: WorktreeScope,
    seen: HashSet<u64>,
    files: BTreeMap<String, u64>,
    tools: BTreeMap<String, u64>,
    /// Oldest first.
    sessions: Vec<Session>,
}

struct Session {
    provider: &'static str,
    id: String,
    /// It ran in this workspace and its agent lists it, so it may supply the intent.
    counts: bool,
    /// The session's title, or its first prompt.
    candidate: Option<String>,
    /// Cleaned, in order.
    prompts: Vec<Goal>,
}

struct Goal {
    /// From 1; 0 if unknown.
    line: u64,
    /// Milliseconds since the epoch.
    at: i64,
    text: String,
}

impl<'a> Analysis<'a> {
    fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            scope: WorktreeScope::new(workspace.root()),
            seen: HashSet::new(),
            files: BTreeMap::new(),
            tools: BTreeMap::new(),
            sessions: vec![],
        }
    }

    fn add(&mut self, row: &Transcript, digest: &Digest) {
        let counts =
            !row.hidden && !row.subagent && row.folder().is_some_and(|folder| self.scope.holds(folder));
        let relative = |path: &str| self.relative(path, row);
        let is_new = |origin: &Option<u64>| origin.is_none_or(|origin| !self.seen.contains(&origin));
        let prompts = digest.prompts.iter().filter(|prompt| is_new(&prompt.origin));
        let goal = |prompt: &Fact<String>| Goal {
            line: prompt.line,
            // A prompt cannot be newer than the transcript.
            at: prompt.at.map_or(row.updated_at, |at| at.min(row.updated_at)),
            text: history::sentence(&prompt.what, &relative),
        };
        let prompts: Vec<Goal> = prompts.map(goal).collect();
        let title = digest.title.as_ref().map(|title| history::sentence(title, &relative));
        let candidate = title.or_else(|| prompts.first().map(|goal| goal.text.clone()));
        let calls = digest.calls.iter().filter(|(origin, _)| is_new(origin));
        let calls: Vec<&String> = calls.map(|(_, name)| name).collect();
        // A file that was only read may have been a reference: it doesn't show what the work was about.
        let files = digest.files.iter().filter(|(_, was_edited)| **was_edited);
        let files: BTreeSet<String> =
            files.map(|(path, _)| relative(path).unwrap_or_else(|| path.clone())).collect();
        for name in calls {
            *self.tools.entry(name.clone()).or_default() += 1;
        }
        for file in files {
            *self.files.entry(file).or_default() += 1;
        }
        self.seen.extend(digest.prompts.iter().filter_map(|prompt| prompt.origin));
        self.seen.extend(digest.calls.iter().filter_map(|(origin, _)| *origin));
        self.sessions.push(Session {
            provider: row.provider.as_str(),
            id: row.id.clone(),
            counts,
            candidate: candidate.filter(|text| !text.is_empty()),
            prompts,
        });
    }

    /// Returns a path relative to the workspace, or to the corresponding folder in another worktree of its repository.
    fn relative(&self, path: &str, session: &Transcript) -> Option<String> {
        let plain = Path::new(path.strip_prefix("file://").unwrap_or(path));
        let now = if plain.starts_with("~") { plain.to_owned() } else { session.path_now(plain) };
        let real = openagents_core::git::real_path(&now);
        let inside = self.scope.folders().iter().find_map(|folder| real.strip_prefix(folder).ok());
        let inside = inside.map(Path::to_owned).or_else(|| self.workspace.resolve(path).ok())?;
        let shown = Workspace::shown(&inside);
        Some(if shown.is_empty() || shown == "." { self.workspace.name().to_owned() } else { shown })
    }

    /// Returns the distinct prompts, newest first.
    fn goals(&self, most: usize) -> Vec<String> {
        let mut seen = HashSet::new();
        let sessions = self.sessions.iter().rev();
        let mut prompts: Vec<&Goal> = sessions.flat_map(|session| session.prompts.iter().rev()).collect();
        // Sessions may run concurrently; prompts with the same time keep the order of their sessions.
        prompts.sort_by_key(|goal| std::cmp::Reverse(goal.at));
        let texts = prompts.into_iter().map(|goal| goal.text.as_str()).filter(|text| !text.is_empty());
        texts.filter(|text| seen.insert(text.to_lowercase())).take(most).map(str::to_owned).collect()
    }

    fn intent(&self) -> Option<(String, Vec<Evidence>)> {
        let candidates: Vec<(&Session, &str)> = self
            .sessions
            .iter()
            .rev()
            .filter(|session| session.counts)
            .filter_map(|session| session.candidate.as_deref().map(|text| (session, text)))
            .collect();
        let sentences: Vec<&str> = candidates.iter().map(|(_, text)| *text).collect();
        let (chosen, sharing) = history::choose(&sentences)?;
        let others = sharing.into_iter().filter(|at| *at != chosen);
        let rests_on = std::iter::once(chosen).chain(others).take(EVIDENCE);
        let evidence = rests_on.map(|at| candidates[at].0.evidence(candidates[at].1)).collect();
        Some((sentences[chosen].to_owned(), evidence))
    }
}

impl Session {
    fn evidence(&self, candidate: &str) -> Evidence {
        let prompt = self.prompts.iter().find(|goal| goal.line > 0 && !goal.text.is_empty());
        let (line, text) = prompt.map_or((0, candidate), |goal| (goal.line, goal.text.as_str()));
        Evidence::Session {
            provider: self.provider.to_owned(),
            session_id: self.id.clone(),
            line,
            text: text.to_owned(),
        }
    }
}

fn frequencies(counts: &BTreeMap<String, u64>) -> Frequencies {
    let mut ranked: Vec<_> = counts.iter().map(|(name, count)| (name.clone(), *count)).collect();
    ranked.sort_by(|(a, count), (b, other)| other.cmp(count).then_with(|| a.cmp(b)));
    ranked.truncate(FREQUENCIES);
    Frequencies(ranked)
}
