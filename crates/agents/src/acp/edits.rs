//! “Allow edits in this folder until this turn ends”.

use super::{frozen::PendingCommands, live::Live, stage::Stage};
use openagents_core::{
    approval::{ALLOW_EDITS, ApprovalOption, ApprovalRequest, OptionKind},
    trust,
    update::{AgentPart, ToolCallDetails, ToolContent, ToolKind},
    workspace::Workspace,
};
use std::path::{Component, Path, PathBuf};

/// Whether an option's id is ours: an agent's own option must not have it.
pub(super) fn is_ours(id: &str) -> bool {
    id == ALLOW_EDITS
}

/// Adds the option to a request.
pub(super) fn offer(request: &mut ApprovalRequest) {
    let at = request.options.iter().rposition(|option| !option.kind.denies()).map_or(0, |at| at + 1);
    let name = "Allow edits in this folder until this turn ends".to_owned();
    request
        .options
        .insert(at, ApprovalOption { id: ALLOW_EDITS.to_owned(), name, kind: OptionKind::AllowAlways });
}

/// Returns the option that the agent gets for the one that the user chose.
pub(super) fn choose(
    stage: &mut Stage,
    chosen: ApprovalOption,
    options: &[ApprovalOption],
) -> Option<ApprovalOption> {
    if chosen.id != ALLOW_EDITS {
        return Some(chosen);
    }
    allow(stage, true);
    once(options).cloned()
}

pub(super) fn once(options: &[ApprovalOption]) -> Option<&ApprovalOption> {
    options.iter().find(|option| option.kind == OptionKind::AllowOnce)
}

fn allow(stage: &mut Stage, allowed: bool) {
    if let Some(turn) = stage.turn.as_mut().filter(|turn| turn.edits_allowed != allowed) {
        turn.edits_allowed = allowed;
        stage.record(AgentPart::EditsAllowed(allowed));
        stage.news.expedite(&"edits_allowed");
    }
}

impl Live {
    /// Takes the permission for edits back.
    pub(super) fn ask_before_edits(&self) {
        self.stage(|stage, _| allow(stage, false));
    }
}

/// Whether a request is only about changes of files, all of them shown, that need no approval of their own.
pub(super) fn is_covered(
    workspace: &Workspace,
    call: &ToolCallDetails,
    request: &ApprovalRequest,
    pending: &PendingCommands,
) -> bool {
    let diffs = call.content.iter().filter_map(|piece| match piece {
        ToolContent::Diff { path, .. } => Some(path),
        _ => None,
    });
    let has_diff = diffs.clone().next().is_some();
    let mut paths = diffs.chain(call.locations.iter().map(|location| &location.path));
    let root = workspace.root();
    let is_free = |path: &String| {
        // Exactly this file is written: nothing is corrected.
        let path = root.join(path);
        let Some(file) = real(&path) else { return false };
        let Ok(within) = file.strip_prefix(root) else { return false };
        let named = path.strip_prefix(root).unwrap_or(within);
        !trust::needs_own_approval(named) && !trust::needs_own_approval(within) && !pending.names(root, &file)
    };
    let is_edit = call.kind == Some(ToolKind::Edit) && request.command.is_none() && !request.cut;
    is_edit && has_diff && paths.all(is_free)
}

/// Maximum bytes of a path: `PATH_MAX` of Linux.
const PATH_BYTES: usize = 4096;

/// Returns a path without links; the file, and folders above it, may not exist yet. `None` for one that goes up.
fn real(path: &Path) -> Option<PathBuf> {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    if goes_up || path.as_os_str().len() > PATH_BYTES {
        return None;
    }
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            return Some(real.join(path.strip_prefix(above).ok()?));
        }
        // A link to something that does not exist leads anywhere.
        if above.is_symlink() {
            return None;
        }
    }
    None
}
