//! Separates a session's own lines from those that a fork or a sub-agent copied from its parent.

use super::{
    super::{json::Node, lines},
    record,
};
use crate::budget::Budget;
use std::{collections::HashSet, path::Path};

/// Maximum number of bytes examined of a parent or a fork.
const MAX_BYTES: u64 = 8 << 20;
const MAX_LINE: usize = 1 << 20;

/// Returns the first line of `child` whose turn is not in `parent`; earlier lines are copies with new timestamps.
/// Without turn ids (before about 0.104) copies cannot be detected, and every line counts as the child's own.
pub(super) fn own_from(child: &Path, parent: &Path, budget: &Budget) -> u64 {
    let mut known = HashSet::new();
    each_turn(parent, budget, |_, turn| {
        known.insert(turn.to_owned());
        true
    });
    let mut copied_up_to = 0;
    let mut own = None;
    each_turn(child, budget, |line, turn| {
        if known.contains(turn) {
            copied_up_to = line;
            true
        } else {
            own = Some(line);
            false
        }
    });
    match own {
        _ if copied_up_to == 0 => 0,
        Some(line) => line,
        None => u64::MAX,
    }
}

fn each_turn(path: &Path, budget: &Budget, mut visit: impl FnMut(u64, &str) -> bool) {
    let Ok(log) = lines::open(path) else { return };
    let mut lines = lines::Lines::new(log, MAX_LINE, MAX_BYTES);
    while let Ok(Some(line)) = lines.next(budget) {
        if memchr::memmem::find(line.bytes, b"\"turn_id\"").is_none() {
            continue;
        }
        let Some(node) = Node::parse_object(line.bytes) else { continue };
        if let Some(turn) = record::turn_id(&node)
            && !visit(line.number, turn)
        {
            return;
        }
    }
}
