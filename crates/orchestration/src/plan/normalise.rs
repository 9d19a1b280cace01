//! Bounds and cleans up planned steps.

use super::op::{Op, OpKind};
use openagents_core::workspace::Workspace;

/// Maximum number of steps; an analysis of the sessions may be added.
const MAX_OPS: usize = 5;

/// Normalises paths, drops duplicates, keeps the first [`MAX_OPS`] steps and appends an analysis if sessions are used.
/// A path outside of the workspace is kept, so that its step fails with an error that names it.
pub(crate) fn normalise(kinds: Vec<OpKind>, workspace: &Workspace) -> Vec<Op> {
    let mut kept: Vec<OpKind> = Vec::new();
    for mut kind in kinds {
        make_path_relative(&mut kind, workspace);
        if kept.len() < MAX_OPS && !kept.contains(&kind) {
            kept.push(kind);
        }
    }
    let analyzes = kept.iter().any(|kind| matches!(kind, OpKind::SessionAnalyze { .. }));
    if !analyzes && kept.iter().any(OpKind::is_session_op) {
        kept.push(OpKind::analyze_recent());
    }
    let mut ops: Vec<Op> = Vec::new();
    for kind in kept {
        let mut op = Op::new(kind);
        // Clients identify steps by their text, so equal texts are numbered.
        match ops.iter().filter(|other| other.kind.entry_text() == op.text).count() {
            0 => {}
            same => op.text = format!("{} ({})", op.text, same + 1),
        }
        ops.push(op);
    }
    ops
}

fn make_path_relative(kind: &mut OpKind, workspace: &Workspace) {
    let relative = |path: &mut String| {
        if let Ok(resolved) = workspace.resolve(path) {
            *path = Workspace::shown(&resolved);
        }
    };
    match kind {
        OpKind::ListDir { path, .. } | OpKind::ReadSpan { path, .. } => relative(path),
        OpKind::Grep { path_prefix, .. } => {
            if let Some(prefix) = path_prefix {
                relative(prefix);
            }
            path_prefix.take_if(|prefix| prefix == ".");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_tools::builtin::testing::Bench;

    fn texts(kinds: Vec<OpKind>) -> Vec<String> {
        let bench = Bench::with(&[("src/a", "")]);
        normalise(kinds, &bench.workspace).into_iter().map(|op| op.text).collect()
    }

    #[test]
    fn duplicates_go_and_five_stay() {
        let list = |path: &str| OpKind::ListDir { path: path.into(), depth: 0 };
        let kinds =
            vec![list("/workspace/src"), list("src"), list("."), list("a"), list("b"), list("c"), list("d")];
        let kept = ["src", ".", "a", "b", "c"].map(|path| format!("List directory {path}"));
        assert_eq!(texts(kinds), kept);
    }

    #[test]
    fn an_analysis_follows_any_session_op_once() {
        let list = OpKind::SessionList { provider: None, top_k: None };
        assert_eq!(texts(vec![list.clone()]), ["List 20 sessions", "Analyze recent sessions"]);
        let both = vec![OpKind::analyze_recent(), list];
        assert_eq!(texts(both), ["Analyze recent sessions", "List 20 sessions"]);
        assert_eq!(texts(vec![OpKind::grep("x")]), ["Search 'x' in workspace"]);
    }

    #[test]
    fn steps_that_read_the_same_but_do_different_things_both_stay() {
        let read = |session_id: &str| OpKind::SessionRead {
            session_id: session_id.into(),
            provider: openagents_transcripts::history::Provider::Codex,
        };
        let expected =
            ["Read session 0199… (codex)", "Read session 0199… (codex) (2)", "Analyze recent sessions"];
        assert_eq!(texts(vec![read("0199a"), read("0199b"), read("0199a")]), expected);
    }

    #[test]
    fn a_prefix_that_means_everything_is_left_out_and_one_outside_is_kept_to_fail_by_name() {
        let grep = |prefix: &str| OpKind::Grep {
            pattern: "x".into(),
            path_prefix: Some(prefix.into()),
            case_insensitive: false,
        };
        let expected = ["Search 'x' in workspace", "Search 'x' in src", "Search 'x' in /etc"];
        assert_eq!(texts(vec![grep("/workspace"), grep("proj/src/"), grep("/etc")]), expected);
    }
}
