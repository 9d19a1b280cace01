//! Separates a session's own lines from those that a fork or a sub-agent copied from its parent.

use super::{
    super::super::{json::Node, lines},
    record,
};
use crate::limits;
use openagents_core::budget::Budget;
use std::{collections::HashSet, path::Path};

/// Returns the first line of `child` whose turn is not in `parent`; earlier lines are copies with new timestamps.
/// Without turn ids (before about 0.104) copies cannot be detected, and every line counts as the child's own.
pub(super) fn own_from(child: &Path, parent: &Path, budget: &Budget) -> u64 {
    let mut known = HashSet::new();
    each_turn(parent, budget, |_, turn| {
        known.insert(turn.to_owned());
        true
    });
    let (mut copies, mut own) = (false, u64::MAX);
    each_turn(child, budget, |line, turn| {
        let copied = known.contains(turn);
        if copied {
            copies = true
        } else {
            own = line
        }
        copied
    });
    if copies { own } else { 0 }
}

/// Passes each line's number and turn to `visit` until it returns false.
fn each_turn(path: &Path, budget: &Budget, mut visit: impl FnMut(u64, &str) -> bool) {
    let Ok(log) = lines::open(path) else { return };
    let mut lines = lines::Lines::new(log, limits::LINE, limits::COPIED);
    while let Ok(Some(line)) = lines.next(budget) {
        if memchr::memmem::find(line.bytes, b"\"turn_id\"").is_none() {
            continue;
        }
        let text = line.text();
        let Some(node) = Node::parse_object(&text) else { continue };
        if record::turn_id(&node).is_some_and(|turn| !visit(line.number, turn)) {
            return;
        }
    }
}
