//! The arguments of `delegate.run`: validation, and the text for the delegate.

use super::delegator::DelegateOrder;
use globset::Glob;
use openagents_core::{agent::AccessLimits, text::one_line, workspace::Workspace};
use openagents_tools::tool::{ToolError, parse_arguments};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Maximum number of globs of one task, and maximum length of one in characters.
const GLOBS: usize = 64;
const GLOB: usize = 256;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The agent that works: `auto` (one that fits and is available), `codex`, `claude-code`, `gptoss`, `local_fm` or
    /// `custom:<id>`.
    provider: Option<String>,
    /// A short verb for the kind of work: `run`, `search`, `generate`.
    task: Option<String>,
    /// One line for people.
    description: Option<String>,
    /// The instruction for the agent, with everything that it needs to know: it sees nothing of this session.
    #[schemars(length(min = 1))]
    user_prompt: String,
    /// The folder to work in: the session's, or one inside it.
    workspace_root: Option<String>,
    /// The files to keep to, as globs relative to that folder: `src/**/*.rs`.
    files_include_glob: Option<Vec<String>>,
    /// Ask for a short summary at the end.
    summarize: Option<bool>,
    /// Maximum number of files that may be read or changed.
    #[schemars(range(min = 1))]
    max_files: Option<u32>,
    /// Advice only.
    priority: Option<Priority>,
    /// Milliseconds after which the work should be done; after twice that time the agent is stopped.
    #[schemars(range(min = 1, max = 86_400_000))]
    time_budget_ms: Option<u64>,
    /// Show what would be handed over without starting an agent.
    dry_run: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    Normal,
    High,
}

/// A task with valid arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DelegateTask {
    /// The instruction as given.
    pub(super) prompt: String,
    pub(super) dry_run: bool,
    /// Until the agent is chosen, its provider is the requested one, or `auto`.
    pub(super) order: DelegateOrder,
}

impl DelegateTask {
    pub(super) fn parse(arguments: Value, workspace: &Workspace) -> Result<Self, ToolError> {
        let arguments: Arguments = parse_arguments(arguments)?;
        if arguments.user_prompt.trim().is_empty() {
            return invalid("user_prompt is empty; say what is to be done");
        }
        let include = globs(arguments.files_include_glob.as_deref().unwrap_or_default())?;
        let order = DelegateOrder {
            provider: filled(&arguments.provider).unwrap_or_else(|| "auto".to_owned()),
            description: filled(&arguments.description),
            text: compose(&arguments, &include),
            root: folder(arguments.workspace_root.as_deref(), workspace)?,
            limits: AccessLimits { include, max_files: arguments.max_files },
            summarize: arguments.summarize.unwrap_or_default(),
            time_budget: arguments.time_budget_ms.map(Duration::from_millis),
        };
        Ok(Self { prompt: arguments.user_prompt, dry_run: arguments.dry_run.unwrap_or_default(), order })
    }
}

fn filled(text: &Option<String>) -> Option<String> {
    text.as_deref().map(one_line).filter(|line| !line.is_empty())
}

fn invalid<T>(reason: impl Into<String>) -> Result<T, ToolError> {
    Err(ToolError::InvalidParameters(reason.into()))
}

fn globs(given: &[String]) -> Result<Vec<String>, ToolError> {
    if given.len() > GLOBS {
        return invalid(format!("files_include_glob has {} globs; {GLOBS} are allowed", given.len()));
    }
    for glob in given {
        let shown: String = glob.chars().take(100).collect();
        let leads_out = Path::new(glob).is_absolute() || glob.split(['/', '\\']).any(|part| part == "..");
        if leads_out {
            return invalid(format!(
                "files_include_glob {shown} leads out of the workspace; globs are relative to it"
            ));
        }
        if glob.trim().is_empty() || glob.chars().nth(GLOB).is_some() {
            return invalid(format!(
                "files_include_glob {shown:?} is empty or longer than {GLOB} characters"
            ));
        }
        if let Err(error) = Glob::new(glob) {
            return invalid(format!("files_include_glob {shown} is not a glob: {}", error.kind()));
        }
    }
    Ok(given.to_vec())
}

/// Returns the canonical folder: a link in the workspace may lead out of it.
fn folder(given: Option<&str>, workspace: &Workspace) -> Result<PathBuf, ToolError> {
    let Some(given) = given.map(str::trim).filter(|given| !given.is_empty()) else {
        return Ok(workspace.root().to_path_buf());
    };
    let outside = || format!("workspace_root {given} is not in the workspace of this session");
    // For read tools `/` means the workspace; a delegate would get the whole disk.
    if given.bytes().all(|byte| byte == b'/') {
        return invalid(outside());
    }
    let Ok(path) = workspace.resolve(given) else { return invalid(outside()) };
    match std::fs::canonicalize(workspace.root().join(path)) {
        Ok(real) if !real.starts_with(workspace.root()) => invalid(outside()),
        Ok(real) if real.is_dir() => Ok(real),
        _ => invalid(format!("workspace_root {given} is not a folder")),
    }
}

fn compose(arguments: &Arguments, include: &[String]) -> String {
    let priority = match arguments.priority {
        Some(Priority::High) => Some("high"),
        Some(Priority::Low) => Some("low"),
        Some(Priority::Normal) | None => None,
    };
    let asks = arguments.summarize.unwrap_or_default();
    let limits = [
        filled(&arguments.description),
        filled(&arguments.task).map(|task| format!("Task: {task}")),
        (!include.is_empty()).then(|| format!("Keep to the files that match: {}", include.join(", "))),
        arguments.max_files.map(|most| format!("Keep to {most} files at the most.")),
        arguments.time_budget_ms.map(|time| format!("Keep to {} of time.", duration(time))),
        priority.map(|priority| format!("Priority: {priority}")),
        asks.then(|| "End with a summary of what you did, in a few sentences.".to_owned()),
    ];
    let limits: String = limits.into_iter().flatten().map(|line| line + "\n").collect();
    let gap = if limits.is_empty() { "" } else { "\n" };
    format!("{limits}{gap}{}", arguments.user_prompt)
}

fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..120_000 => format!("{} s", milliseconds / 1_000),
        _ => format!("{} minutes", milliseconds / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_tools::builtin::testing::Bench;
    use serde_json::json;

    #[test]
    fn arguments_become_one_text() {
        let bench = Bench::with(&[("src/a.rs", "")]);
        let arguments = json!({
            "provider": "codex", "task": "refactor", "description": "Tidy\nthe views", "user_prompt": "Extract subviews.\nKeep behaviour.",
            "workspace_root": bench.root().join("src"), "files_include_glob": ["**/*.rs", "*.{md,txt}"], "summarize": true,
            "max_files": 20, "priority": "high", "time_budget_ms": 120_000, "dry_run": false,
        });
        let task = DelegateTask::parse(arguments, &bench.workspace).unwrap();
        insta::assert_snapshot!(task.order.text, @r"
        Tidy the views
        Task: refactor
        Keep to the files that match: **/*.rs, *.{md,txt}
        Keep to 20 files at the most.
        Keep to 2 minutes of time.
        Priority: high
        End with a summary of what you did, in a few sentences.

        Extract subviews.
        Keep behaviour.
        ");
        assert_eq!((task.order.root, task.order.limits.max_files), (bench.root().join("src"), Some(20)));
        let bare = DelegateTask::parse(
            json!({"user_prompt": "Count the TODOs", "provider": null}),
            &bench.workspace,
        )
        .unwrap()
        .order;
        assert_eq!(
            (bare.text.as_str(), bare.root.as_path(), bare.provider.as_str()),
            ("Count the TODOs", bench.root(), "auto")
        );
    }

    #[test]
    fn value_out_of_range_is_refused_by_name() {
        let bench = Bench::with(&[("a.rs", "")]);
        std::os::unix::fs::symlink("/usr", bench.root().join("out")).unwrap();
        let rows = [
            (json!({}), "user_prompt is missing"),
            (json!({"user_prompt": " \n"}), "user_prompt is empty"),
            (json!({"user_prompt": 7}), "user_prompt: 7 is not a string"),
            (
                json!({"user_prompt": "x", "workspace_root": "/etc"}),
                "workspace_root /etc is not in the workspace",
            ),
            (json!({"user_prompt": "x", "workspace_root": "/"}), "workspace_root / is not in the workspace"),
            (
                json!({"user_prompt": "x", "workspace_root": "../.."}),
                "workspace_root ../.. is not in the workspace",
            ),
            (
                json!({"user_prompt": "x", "workspace_root": "out"}),
                "workspace_root out is not in the workspace",
            ),
            (json!({"user_prompt": "x", "workspace_root": "a.rs"}), "workspace_root a.rs is not a folder"),
            (json!({"user_prompt": "x", "workspace_root": "gone"}), "workspace_root gone is not a folder"),
            (
                json!({"user_prompt": "x", "files_include_glob": ["a["]}),
                "files_include_glob a[ is not a glob",
            ),
            (
                json!({"user_prompt": "x", "files_include_glob": ["../*"]}),
                "files_include_glob ../* leads out",
            ),
            (
                json!({"user_prompt": "x", "files_include_glob": ["/etc/*"]}),
                "files_include_glob /etc/* leads out",
            ),
            (json!({"user_prompt": "x", "files_include_glob": [""]}), "files_include_glob \"\" is empty"),
            (
                json!({"user_prompt": "x", "files_include_glob": "*.rs"}),
                "files_include_glob: \"*.rs\" is not an array",
            ),
            (json!({"user_prompt": "x", "max_files": 0}), "max_files: 0 is less than the minimum of 1"),
            (json!({"user_prompt": "x", "priority": "urgent"}), "priority: \"urgent\" is not one of"),
            (
                json!({"user_prompt": "x", "time_budget_ms": 0}),
                "time_budget_ms: 0 is less than the minimum of 1",
            ),
            (
                json!({"user_prompt": "x", "time_budget_ms": 90_000_000}),
                "time_budget_ms: 90000000 is greater than the maximum of 86400000",
            ),
        ];
        for (arguments, part) in rows {
            let error = DelegateTask::parse(arguments.clone(), &bench.workspace).unwrap_err();
            assert!(matches!(error, ToolError::InvalidParameters(_)), "{arguments}");
            assert!(error.to_string().contains(part), "{arguments}: {error}");
        }
    }

    proptest::proptest! {
        /// A delegate works inside the workspace for any arguments.
        #[test]
        fn task_stays_in_workspace(root in "[a-z./~%\\\\ ]{0,20}", glob in "[a-z*./\\\\{},\\[\\]!? ]{0,12}") {
            let bench = Bench::with(&[("a/b.rs", "")]);
            let arguments = json!({"user_prompt": "x", "workspace_root": root, "files_include_glob": [glob]});
            if let Ok(task) = DelegateTask::parse(arguments, &bench.workspace) {
                proptest::prop_assert!(task.order.root.starts_with(bench.root()), "{root}");
                let climbs = glob.split('/').any(|part| part == "..");
                proptest::prop_assert!(!glob.starts_with('/') && !climbs, "{glob}");
            }
        }
    }
}
