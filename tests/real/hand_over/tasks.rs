//! The tasks, and what the scripted model does in each: the first agent works until the task is half done. The next one
//! repeats a mistake if its brief leaves out the fact that prevents it.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{fs, path::Path};

/// How the model works. An empty argument is a fact that its brief does not have.
const STEP: &str = include_str!("step.sh");
/// Files that the model reads, and their lines: a transcript has 20,000 tokens or more.
const SOURCES: [&str; 4] = ["lib/a.py", "lib/b.py", "lib/c.py", "lib/d.py"];
const LINES: usize = 420;

/// A task, from `tasks.json`. Its texts are also parts of regular expressions and of shell commands: they contain no
/// special characters but the full stop.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Task {
    pub(super) name: String,
    pub(super) language: String,
    /// The first prompt begins with it.
    pub(super) task: String,
    /// In the first prompt: of the first protected file.
    pub(super) constraint: String,
    /// In the second prompt: of the second protected file.
    pub(super) kept: String,
    protected: [String; 2],
    /// The other sentence of the second prompt.
    also: String,
    /// A command, and why the user does not want it.
    rejected: String,
    pub(super) reason: String,
    /// The reason is given when the command is denied; else it is in the third prompt.
    denied: bool,
    /// The end of the third prompt.
    then: String,
    /// The command that fails for the first agent.
    pub(super) failing: String,
    /// What the first agent finds out.
    pub(super) found: String,
    /// What the first agent leaves to do.
    pub(super) todo: String,
    /// What the first agent writes, and the user changes later.
    pub(super) edited: String,
    /// What the second agent decides.
    pub(super) decided: String,
    /// The command that fails for the second agent.
    pub(super) broken: String,
    /// What the second agent asks whether to do.
    pub(super) left: String,
}

/// Reads all tasks.
pub(super) fn all() -> Result<Vec<Task>> {
    serde_json::from_str(include_str!("tasks.json")).context("tasks.json")
}

/// A fact, and in which briefs it has to be: in that of the first agent, in that of the second one.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) what: &'static str,
    pub(super) text: String,
    pub(super) briefs: [bool; 2],
}

impl Task {
    /// The file that the second agent adds, and the user changes later.
    pub(super) fn added(&self) -> String {
        format!("{}.md", self.name)
    }

    fn question(&self) -> String {
        let mark = if ["ja", "zh"].contains(&self.language.as_str()) { '？' } else { '?' };
        format!("{}{mark}", self.left)
    }

    pub(super) fn facts(&self) -> [Fact; 10] {
        let fact = |what, text: &str, briefs| Fact { what, text: text.to_owned(), briefs };
        let (both, first, second) = ([true, true], [true, false], [false, true]);
        [
            fact("task", &self.task, both),
            fact("constraint", &self.constraint, both),
            fact("second constraint", &self.kept, both),
            fact("rejected way", &self.reason, both),
            fact("finding", &self.found, both),
            fact("failing command", &format!("`{}` → exit code", self.failing), first),
            fact("open task", &self.todo, first),
            fact("changed file", &format!("{}: changed since", self.edited), first),
            fact("decision", &self.decided, second),
            fact("question", &format!("Question to the user: {}", self.question()), second),
        ]
    }

    /// Writes the files of the task's folder.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let write = |name: &str, text: &str| -> Result<()> {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().context("a folder")?)?;
            Ok(fs::write(path, text)?)
        };
        for name in &self.protected {
            write(name, "as it was\n")?;
        }
        for name in SOURCES {
            let lines = (0..LINES)
                .map(|at| format!("def step_{at}(value): return value * {at} + len(\"{}\")\n", self.name));
            write(name, &lines.collect::<String>())?;
        }
        for command in [&self.failing, &self.broken] {
            let name = command.strip_prefix("sh ").context("a script")?;
            write(name, &format!("echo 'assertion of {name} failed' >&2\nexit 1\n"))?;
        }
        write("step.sh", STEP)
    }

    /// Returns the prompts to the first agent, with the scripts that answer them.
    pub(super) fn prompts(&self, number: usize) -> [String; 3] {
        let report: String =
            (0..16).map(|at| format!("[{at:02}:00] worker {at}: expected 10.00, got 10.01\n")).collect();
        let report = format!("```\n{report}```");
        let Self { task, constraint, also, kept, reason, then, .. } = self;
        // Users write before what they paste, and behind it.
        let first = match number % 2 {
            0 => format!("{task} {constraint}\n\n{report}"),
            _ => format!("{task}\n\n{report}\n\n{constraint}"),
        };
        let second = format!("{also} {kept}");
        let third = if self.denied { then.clone() } else { format!("{reason} {then}") };
        let scripts = ["begin", "more", "pause"];
        let mut scripts = scripts.iter().map(|script| self.call(script));
        [first, second, third].map(|text| format!("{text} {}", scripts.next().unwrap_or_default()))
    }

    /// Returns the words that start a script of this task.
    pub(super) fn call(&self, script: &str) -> String {
        format!("[[script:{}-{script}]]", self.name)
    }

    /// Returns a text of the approval that is denied, and what the user writes then.
    pub(super) fn denial(&self) -> Option<(String, String)> {
        self.denied.then(|| (self.rejected.clone(), self.reason.clone()))
    }

    /// Adds the model's scripts of this task.
    pub(super) fn add_scripts(&self, scripts: &mut Map<String, Value>) {
        let text = |text: &str| json!({"text": text});
        let calls = |calls: Vec<Value>| json!({"tool_calls": calls});
        // These follow what the brief's reader did first.
        let then = |mut turn: Value| {
            turn["when_tool_result"] = json!(true);
            turn
        };
        let reads = || SOURCES.map(|path| json!({"intent": "read_file", "path": path})).to_vec();
        let create = |subject: &str| json!({"name": "TaskCreate", "arguments": {"subject": subject, "description": subject}});
        let search = json!({"name": "ToolSearch", "arguments":
            {"query": "select:TaskCreate,TaskUpdate", "max_results": 5}});
        let done = json!({"name": "TaskUpdate", "arguments": {"taskId": "1", "status": "completed"}});
        let write = json!({"intent": "write_file", "path": self.edited, "content": "written = True\n"});

        let mut begin = vec![json!({"tool_calls": reads()})];
        if self.denied {
            begin.push(calls(vec![run(&self.rejected)]));
        }
        begin.extend([
            calls(vec![write]),
            calls(vec![search]),
            calls(vec![create("Read the code"), create(&self.todo)]),
            calls(vec![done]),
            text("I have read the code."),
        ]);
        let more = vec![json!({"tool_calls": [run(&self.failing)]}), text(&self.found)];

        let patch = json!({"intent": "patch", "path": self.added(), "content": "written by an agent"});
        let mut take = self.first_steps("codex", &self.edited, &self.facts_of_first());
        take.extend([
            then(calls(SOURCES.map(|path| run_inside(&format!("cat {path}"))).to_vec())),
            then(calls(vec![run(&self.broken)])),
            then(calls(vec![patch])),
            then(text(&format!("{}\n\n{}", self.decided, self.question()))),
        ]);
        let mut end = self.first_steps("claude", &self.added(), &self.facts_of_second());
        end.push(then(text("Everything is done.")));
        for (name, mut turns) in
            [("begin", begin), ("more", more), ("pause", vec![text("I see.")]), ("take", take), ("end", end)]
        {
            if ["take", "end"].contains(&name) {
                turns.extend(self.mistake());
            }
            scripts.insert(format!("{}-{name}", self.name), json!({"turns": turns}));
        }
    }

    /// The first steps of an agent whose brief has the constraint.
    fn first_steps(&self, stage: &str, changed: &str, facts: &[String]) -> Vec<Value> {
        // Only the first letter: the command is in the next brief.
        let given = facts.iter().map(|fact| {
            let start = fact.chars().next().map_or(0, char::len_utf8);
            format!(" \"{{last:({}){}}}\"", &fact[..start], &fact[start..])
        });
        let given: String = given.collect();
        let [first, second] = &self.protected;
        let step = run(&format!("sh step.sh {stage} {first} {second} {changed}{given}"));
        vec![json!({"when_last_contains": self.constraint, "tool_calls": [step]})]
    }

    /// The steps of an agent whose brief lacks the constraint.
    fn mistake(&self) -> [Value; 2] {
        let edit = run(&format!("echo changed >> {}", self.protected[0]));
        [json!({"when_tool_result": false, "tool_calls": [edit]}), json!({"text": "I changed it."})]
    }

    /// Regular expressions of what the second agent has to know, in the order of `step.sh`.
    fn facts_of_first(&self) -> Vec<String> {
        vec![
            self.constraint.clone(),
            self.kept.clone(),
            self.reason.clone(),
            self.found.clone(),
            format!("{}. . exit code", self.failing),
            format!("{}: changed since", self.edited),
            self.todo.clone(),
        ]
    }

    /// The same for the third one.
    fn facts_of_second(&self) -> Vec<String> {
        vec![
            self.constraint.clone(),
            self.kept.clone(),
            self.reason.clone(),
            self.found.clone(),
            format!("{}. . exit code", self.broken),
            format!("{}: changed since", self.added()),
            self.left.clone(),
            self.decided.clone(),
        ]
    }

    /// Checks what an agent did, and returns its mistakes.
    pub(super) fn mistakes(&self, folder: &Path, stage: &str) -> Vec<String> {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let mut mistakes: Vec<String> =
            self.edited_protected(folder).map(|name| format!("changed {name}")).collect();
        for log in ["rejected.log", "searched.log", "failed.log"] {
            if folder.join(log).exists() {
                mistakes.push(log.to_owned());
            }
        }
        let changed = [self.edited.clone(), self.added()];
        for name in changed.iter().filter(|name| folder.join(name).exists() && text(name) != BY_HAND) {
            mistakes.push(format!("overwrote {name}"));
        }
        if !folder.join(format!("finished-{stage}.txt")).exists() {
            mistakes.push("did not finish".to_owned());
        }
        mistakes
    }

    /// The protected files that were changed.
    pub(super) fn edited_protected<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = &'a String> {
        let is_changed = |name: &&String| {
            fs::read_to_string(folder.join(name.as_str())).ok().as_deref() != Some("as it was\n")
        };
        self.protected.iter().filter(is_changed)
    }
}

/// What the user makes of a file.
pub(super) const BY_HAND: &str = "changed by hand\n";

/// A command that needs an approval.
fn run(command: &str) -> Value {
    json!({"intent": "run", "command": command, "arguments": {"description": "Work", "timeout": 20_000,
        "sandbox_permissions": "require_escalated", "justification": "May I do it?"}})
}

/// A command that Codex runs in its sandbox.
fn run_inside(command: &str) -> Value {
    json!({"intent": "run", "command": command, "arguments": {"description": "Read"}})
}
