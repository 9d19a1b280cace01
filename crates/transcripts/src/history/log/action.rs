//! The structured part of an event: its command, the command's outcome, and changes of the task list.

use super::json::Node;
use crate::limits;
use serde_json::Value;

const SHELLS: [&str; 15] = [
    "shell",
    "shell_command",
    "exec_command",
    "local_shell",
    "container.exec",
    "Bash",
    "bash",
    "powershell",
    "run_shell_command",
    "developer__shell",
    "execute_command",
    "exec",
    "Shell",
    "run_terminal_cmd",
    "Execute",
];

/// The action of a tool call, or its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Action {
    /// Id shared by a call and its result.
    pub call: Option<String>,
    /// The arguments of the call.
    pub input: Option<Value>,
    /// The shell command, without the wrapping shell.
    pub command: Option<String>,
    /// The outcome of the call, if known.
    pub outcome: Option<Outcome>,
    pub tasks: Option<TaskChange>,
    /// Id of the session of the sub-agent that the call started.
    pub child_session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Exit(i32),
    /// It was refused or never started.
    NotRun,
}

/// A change of the task list that an agent keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskChange {
    /// The whole list.
    All(Vec<Task>),
    /// One more task; tasks are numbered from 1.
    Added(String),
    Marked {
        number: usize,
        /// Completed or deleted.
        done: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub text: String,
    /// Completed.
    pub done: bool,
}

pub(crate) fn from_call(tool: &str, call: Option<&str>, input: Option<&Node<'_>>) -> Action {
    let mut action = Action { call: call.map(str::to_owned), ..Action::default() };
    // Codex stores arguments as JSON in a string.
    let parsed = input.and_then(Node::as_str).and_then(Node::parse);
    let Some(input) = parsed.as_ref().or(input) else { return action };
    action.input = Some(input.to_value());
    match tool {
        "update_plan" => action.tasks = list(input.get("plan"), "step"),
        "TodoWrite" | "todo_write" | "todowrite" => action.tasks = list(input.get("todos"), "content"),
        "TaskCreate" => action.tasks = input.text("subject").map(|text| TaskChange::Added(text.to_owned())),
        "TaskUpdate" => action.tasks = marked(input),
        tool if SHELLS.contains(&tool) => {
            // Codex's `exec` is a script that calls tools, unlike OpenClaw's.
            let whole = Some(input).filter(|_| tool != "exec");
            action.command = command(input.get("command").or(input.get("cmd")).or(whole));
        }
        _ => {}
    }
    action
}

/// Returns the command of an argument vector or a string, as the user would type it; `None` for a patch.
pub(crate) fn command(node: Option<&Node<'_>>) -> Option<String> {
    let words: Vec<&str> = node?.items().iter().filter_map(Node::as_str).collect();
    let mut text = match (node?.as_str(), words.as_slice()) {
        (Some(text), _) => text.to_owned(),
        // `bash -lc 'cargo build'` is the agent's form of `cargo build`.
        (None, [shell, flag, script]) if flag.starts_with('-') && shell.ends_with("sh") => {
            (*script).to_owned()
        }
        (None, words) => words.join(" "),
    };
    text.truncate(text.floor_char_boundary(limits::COMMAND));
    let text = text.trim();
    (!text.is_empty() && !text.starts_with("apply_patch") && !text.starts_with("*** Begin Patch"))
        .then(|| text.to_owned())
}

/// Finds the exit code in a result: in the header that both agents write, or in Codex's metadata.
pub(crate) fn exit_code(text: &str) -> Option<i32> {
    let number = |rest: &str| {
        let rest = rest.trim_start_matches([':', ' ', '"']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    if text.starts_with('{') {
        // The output before it may contain anything.
        let at = text.rfind("\"exit_code\"")?;
        return number(&text[at + "\"exit_code\"".len()..]);
    }
    text.lines().take(limits::RESULT_HEAD_LINES).find_map(|line| {
        let line = line.trim().trim_start_matches("Error: ");
        let rest = line.strip_prefix("Exit code").or_else(|| line.strip_prefix("Process exited with code"));
        rest.and_then(number)
    })
}

/// Returns the exit code in a field of a result.
pub(crate) fn code(node: &Node<'_>, key: &str) -> Option<i32> {
    match node.get(key)? {
        Node::Number(code) => Some(*code as i32),
        _ => None,
    }
}

fn list(node: Option<&Node<'_>>, text: &str) -> Option<TaskChange> {
    let tasks = node?.items().iter().take(limits::TASKS).filter_map(|item| {
        let done = matches!(item.text("status"), Some("completed" | "deleted" | "cancelled"));
        Some(Task { text: item.text(text)?.to_owned(), done })
    });
    Some(TaskChange::All(tasks.collect()))
}

fn marked(input: &Node<'_>) -> Option<TaskChange> {
    let number = input.text("taskId")?.trim_start_matches('#').parse().ok()?;
    let done = matches!(input.text("status")?, "completed" | "deleted");
    Some(TaskChange::Marked { number, done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_parsed_from_both_agents() {
        let rows = [
            ("shell", r#""{\"command\":[\"bash\",\"-lc\",\"cargo build\"]}""#, Some("cargo build")),
            ("shell", r#""{\"command\":[\"ls\",\"-la\"]}""#, Some("ls -la")),
            ("shell", r#""{\"command\":[\"bash\",\"-lc\",\"apply_patch <<'EOF'\\n*** Begin\"]}""#, None),
            ("exec_command", r#""{\"cmd\":\"npm test\",\"workdir\":\"/w\"}""#, Some("npm test")),
            ("local_shell", r#"["zsh","-c","make"]"#, Some("make")),
            ("Bash", r#"{"command":"go build ./...","description":"Build"}"#, Some("go build ./...")),
            ("exec", r#"{"command":"du -a"}"#, Some("du -a")),
            ("exec", r#""await tools.exec_command({cmd: 'ls'})""#, None),
            ("Read", r#"{"file_path":"/w/a.rs"}"#, None),
            ("Bash", "{}", None),
        ];
        for (tool, input, expected) in rows {
            let node = Node::parse(input);
            assert_eq!(from_call(tool, None, node.as_ref()).command.as_deref(), expected, "{tool} {input}");
        }
    }

    #[test]
    fn exit_code_is_parsed_from_both_agents() {
        let rows = [
            ("Exit code: 101\nWall time: 2 seconds\nOutput:\nerror", Some(101)),
            ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n", Some(0)),
            (r#"{"output":"\"exit_code\": 7","metadata":{"exit_code":2,"duration_seconds":0.1}}"#, Some(2)),
            ("Exit code 1\nnpm ERR!", Some(1)),
            ("Error: Exit code 127\nnot found", Some(127)),
            ("all fine", None),
            ("a\nb\nc\nd\ne\nf\nExit code: 1", None),
            ("{}", None),
        ];
        for (text, expected) in rows {
            assert_eq!(exit_code(text), expected, "{text}");
        }
    }

    #[test]
    fn tasks_are_parsed_from_both_agents() {
        let task = |text: &str, done| Task { text: text.into(), done };
        let rows = [
            (
                "update_plan",
                r#""{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"},{\"step\":\"b\",\"status\":\"pending\"}]}""#,
                TaskChange::All(vec![task("a", true), task("b", false)]),
            ),
            (
                "TodoWrite",
                r#"{"todos":[{"content":"a","status":"in_progress","activeForm":"A"}]}"#,
                TaskChange::All(vec![task("a", false)]),
            ),
            ("TaskCreate", r#"{"subject":"a","description":"b"}"#, TaskChange::Added("a".into())),
            (
                "TaskUpdate",
                r#"{"taskId":"2","status":"completed"}"#,
                TaskChange::Marked { number: 2, done: true },
            ),
        ];
        for (tool, input, expected) in rows {
            let node = Node::parse(input);
            assert_eq!(from_call(tool, None, node.as_ref()).tasks, Some(expected), "{tool}");
        }
    }
}
