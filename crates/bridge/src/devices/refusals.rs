//! Refusals of the last minute, counted by kind so that the audit log can summarise them.

use super::{audit_rows::Actor, audit_rows::AuditEntry};
use parking_lot::Mutex;
use std::{collections::HashMap, net::IpAddr};

/// Kinds of refusals counted separately.
const MAX_COUNTED: usize = 64;
const ACCESS_REFUSED: &str = "access.refused";

/// The refusals since the last [`Refusals::summary`].
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Repetitions after the first.
    more: HashMap<Refused, u32>,
    others: u32,
}

/// Key by which refusals are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Refused {
    /// An address was refused access.
    Access(IpAddr),
    /// A device called a method beyond its scope.
    Call { device: Option<String>, name: String, address: IpAddr, method: String },
}

impl Refused {
    pub(super) fn entry(&self, detail: &str) -> AuditEntry {
        match self {
            Self::Access(address) => AuditEntry {
                address: address.to_string(),
                action: ACCESS_REFUSED.to_owned(),
                detail: detail.to_owned(),
                ..AuditEntry::default()
            },
            Self::Call { device, name, address, method } => {
                let actor = Actor { device: device.clone(), name: name.clone(), address: *address };
                AuditEntry::of(&actor, method, detail)
            }
        }
    }
}

/// The place of a refusal among those counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// The first since the last summary.
    FirstOfAll,
    /// The first of its kind.
    First,
    /// A repetition, or one kind too many.
    Again,
}

impl Refusals {
    pub(super) fn count(&self, refused: Refused) -> Occurrence {
        let mut state = self.0.lock();
        let (is_empty, has_room) = (state.more.is_empty(), state.more.len() < MAX_COUNTED);
        match state.more.get_mut(&refused) {
            Some(more) => *more = more.saturating_add(1),
            None if has_room => {
                state.more.insert(refused, 0);
                return if is_empty { Occurrence::FirstOfAll } else { Occurrence::First };
            }
            None => state.others = state.others.saturating_add(1),
        }
        Occurrence::Again
    }

    /// Returns one entry for each kind that was repeated, and starts over.
    pub(super) fn summary(&self) -> Vec<AuditEntry> {
        let State { more, others } = std::mem::take(&mut *self.0.lock());
        let several = more.into_iter().filter(|(_, more)| *more > 0);
        let mut entries: Vec<AuditEntry> =
            several.map(|(refused, more)| refused.entry(&format!("{more} more within a minute"))).collect();
        if others > 0 {
            let detail = format!("{others} more within a minute, elsewhere");
            entries.push(AuditEntry { action: ACCESS_REFUSED.to_owned(), detail, ..AuditEntry::default() });
        }
        entries
    }
}
