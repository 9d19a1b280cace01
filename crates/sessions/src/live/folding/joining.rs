//! Merging updates.

use super::{folded::Folded, index::Mention};
use crate::scope::{Scope, scoped};
use openagents_core::update::{Delegated, SessionUpdate, ToolCallUpdate};

/// Maximum size of a joined text, in bytes. Further text becomes another chunk of the same message.
const TEXT: usize = 256 << 10;

/// Copies the fields for which update `seq` is the last.
pub(super) fn add(news: &mut ToolCallUpdate, update: &ToolCallUpdate, seq: u64, mention: &Mention) {
    if mention.status == seq {
        news.status = update.status.clone();
    }
    let [title, kind, raw_input, locations, content] = mention.details.map(|known| known == seq);
    let (known, more) = (&mut news.details, &update.details);
    if title {
        known.title.clone_from(&more.title);
    }
    if kind {
        known.kind = more.kind;
    }
    if raw_input {
        known.raw_input.clone_from(&more.raw_input);
    }
    if locations {
        known.locations.clone_from(&more.locations);
    }
    if content {
        known.content.clone_from(&more.content);
    }
}

/// Appends `next` to `open` if both belong to the same message. Returns whether it did.
pub(super) fn join(open: &mut Folded, next: &Folded) -> bool {
    let is_joined = match (unwrap(&mut open.update), scoped(&next.update)) {
        ((scope, SessionUpdate::AgentMessage(known)), (other, SessionUpdate::AgentMessage(more))) => {
            let is_same = scope == other && known.message_id == more.message_id && known.late == more.late;
            // The end of a turn and a list of findings are kept separate.
            let lists = known.findings.is_some() || more.findings.is_some();
            let goes_on =
                is_same && !lists && !known.ends_turn() && known.text.len() + more.text.len() <= TEXT;
            if goes_on {
                known.text.push_str(&more.text);
                known.summary.clone_from(&more.summary);
                known.usage.clone_from(&more.usage);
                known.ended = more.ended;
                known.failed = more.failed;
            }
            goes_on
        }
        ((scope, SessionUpdate::AgentThought(known)), (other, SessionUpdate::AgentThought(more))) => {
            let is_same = scope == other && known.message_id == more.message_id && known.late == more.late;
            let goes_on = is_same && known.text.len() + more.text.len() <= TEXT;
            if goes_on {
                known.text.push_str(&more.text);
            }
            goes_on
        }
        _ => false,
    };
    if is_joined {
        (open.seq, open.last_ts) = (next.seq, next.last_ts);
    }
    is_joined
}

fn unwrap(update: &mut SessionUpdate) -> (Scope, &mut SessionUpdate) {
    match update {
        SessionUpdate::Delegated(Delegated { parent_call_id, child_session_id, update }) => {
            (Some((parent_call_id.clone(), child_session_id.clone())), update)
        }
        update => (None, update),
    }
}
