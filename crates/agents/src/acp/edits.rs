//! “Allow edits in this folder until this turn ends”.

use super::{frozen::PendingCommands, live::Live, stage::Stage};
use openagents_core::{
    approval::{ApprovalOption, ApprovalRequest, OptionKind},
    trust,
    update::{AgentPart, ToolCallDetails, ToolContent, ToolKind},
    workspace::Workspace,
};
use std::path::{Path, PathBuf};

const ID: &str = "openagents:allow-edits";

/// Offers the option with a request that it covers. Returns the id of the agent's option if the user has chosen it
/// before in this turn.
pub(super) fn offer(
    live: &Live,
    stage: &Stage,
    call: &ToolCallDetails,
    request: &mut ApprovalRequest,
) -> Option<String> {
    let turn = stage.turn.as_ref()?;
    let once = request.options.iter().find(|option| option.kind == OptionKind::AllowOnce)?.id.clone();
    // What is not a diff, or not shown in full, is not only an edit.
    if request.command.is_some() || request.cut || !is_covered(&turn.access.workspace, call, &live.pending) {
        return None;
    }
    if turn.edits_allowed {
        return Some(once);
    }
    let at = request.options.iter().rposition(|option| !option.kind.denies()).map_or(0, |at| at + 1);
    let name = "Allow edits in this folder until this turn ends".to_owned();
    request.options.insert(at, ApprovalOption { id: ID.to_owned(), name, kind: OptionKind::AllowAlways });
    None
}

/// Returns the option to send to the agent for the one that the user chose.
pub(super) fn choose(
    stage: &mut Stage,
    chosen: ApprovalOption,
    options: &[ApprovalOption],
) -> Option<ApprovalOption> {
    if chosen.id != ID {
        return Some(chosen);
    }
    if let Some(turn) = &mut stage.turn {
        turn.edits_allowed = true;
        stage.record(AgentPart::EditsAllowed(true));
        stage.news.expedite(&"edits_allowed");
    }
    options.iter().find(|option| option.kind == OptionKind::AllowOnce).cloned()
}

impl Live {
    /// Takes the permission for edits back.
    pub(super) fn ask_before_edits(&self) {
        self.stage(|stage, _| {
            if let Some(turn) = stage.turn.as_mut().filter(|turn| turn.edits_allowed) {
                turn.edits_allowed = false;
                stage.record(AgentPart::EditsAllowed(false));
                stage.news.expedite(&"edits_allowed");
            }
        });
    }
}

/// Whether a call only changes files that need no approval of their own.
fn is_covered(workspace: &Workspace, call: &ToolCallDetails, pending: &PendingCommands) -> bool {
    let diffs = call.content.iter().filter_map(|piece| match piece {
        ToolContent::Diff { path, .. } => Some(path),
        _ => None,
    });
    let mut paths = diffs.chain(call.locations.iter().map(|location| &location.path)).peekable();
    let has_diff = call.content.iter().any(|piece| matches!(piece, ToolContent::Diff { .. }));
    let is_free = |path: &String| {
        let Ok(named) = workspace.resolve(path) else { return false };
        let Some(file) = real(&workspace.root().join(&named)) else { return false };
        let Ok(within) = file.strip_prefix(workspace.root()) else { return false };
        !trust::needs_own_approval(&named)
            && !trust::needs_own_approval(within)
            && !pending.names(workspace.root(), &file)
    };
    call.kind == Some(ToolKind::Edit) && has_diff && paths.all(is_free)
}

/// Returns a path without links; the file, and folders above it, may not exist yet.
fn real(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    // A link to a file that does not exist leads anywhere.
    if path.is_symlink() {
        return None;
    }
    Some(real(path.parent()?)?.join(path.file_name()?))
}
