//! An agent's notices, compactions and written plans, as entries that replace earlier ones.

use super::newest::Newest;
use crate::limits::{FIRST_STATE_INTERVAL, NOTES, NOTICES, PLAN_BYTES, SUMMARY_BYTES};
use openagents_core::{
    text::clip_bytes,
    update::{AgentNote, CompactionState, NoteContent, SessionUpdate, Severity, new_id},
};
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// A notice, a compaction or a plan, as an agent reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoteNews {
    Notice {
        severity: Severity,
        title: String,
        description: Option<String>,
    },
    Compaction {
        id: String,
        /// `None` leaves it as it is.
        state: Option<CompactionState>,
        summary: Change,
        error: Option<String>,
    },
    Plan {
        id: String,
        text: String,
        path: Option<String>,
    },
    PlanRemoved {
        id: String,
    },
}

/// A change of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Change {
    #[default]
    None,
    Set(String),
    Append(String),
    Clear,
}

impl Change {
    pub(super) fn apply(self, text: &mut Option<String>) {
        match self {
            Self::None => {}
            Self::Set(new) => *text = Some(new),
            Self::Append(more) => text.get_or_insert_default().push_str(&more),
            Self::Clear => *text = None,
        }
    }
}

/// The notes of one process.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// By the agent's id, or by what makes two notices the same; the newest last.
    known: VecDeque<(String, AgentNote)>,
    /// Not shown yet, by our id.
    waiting: Newest<String, AgentNote>,
    /// When the last notices were shown for the first time.
    notices: VecDeque<Instant>,
}

impl Notes {
    /// Applies a report. Returns whether it begins a new row.
    pub(crate) fn apply(&mut self, now: Instant, news: NoteNews) -> bool {
        let key = news.key();
        let at = self.known.iter().position(|(known, _)| *known == key);
        let before = at.and_then(|at| self.known.remove(at)).map(|(_, note)| note);
        let (is_new, is_notice) = (before.is_none(), matches!(news, NoteNews::Notice { .. }));
        if is_new && is_notice && !self.may_show_notice(now) {
            return false;
        }
        let Some(content) = news.content(before.as_ref().map(|note| &note.content)) else { return false };
        let is_changed = before.as_ref().is_none_or(|note| note.content != content);
        let note = AgentNote { id: before.map_or_else(new_id, |note| note.id), content };
        if is_changed {
            self.waiting.record(note.id.clone(), note.clone());
        }
        self.known.push_back((key, note));
        let over = self.known.len().saturating_sub(NOTES);
        self.known.drain(..over);
        is_new
    }

    /// Returns whether there is room for one more notice in this minute.
    fn may_show_notice(&mut self, now: Instant) -> bool {
        self.notices.retain(|at| now.saturating_duration_since(*at) < Duration::from_secs(60));
        let is_free = self.notices.len() < NOTICES;
        if is_free {
            self.notices.push_back(now);
        }
        is_free
    }

    /// Takes the notes that are due.
    pub(crate) fn take(&mut self, now: Instant) -> impl Iterator<Item = SessionUpdate> + use<> {
        self.waiting.take(now, |_| FIRST_STATE_INTERVAL).into_iter().map(SessionUpdate::AgentNote)
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.waiting.due()
    }

    /// Makes everything due.
    pub(crate) fn flush(&mut self) {
        self.waiting.flush();
    }

    /// Ends the compactions of an agent that has exited.
    pub(crate) fn close(&mut self, why: &str) {
        for (_, note) in &mut self.known {
            if let NoteContent::Compaction { state: state @ CompactionState::Running, error, .. } =
                &mut note.content
            {
                (*state, *error) = (CompactionState::Failed, Some(why.to_owned()));
                self.waiting.record(note.id.clone(), note.clone());
            }
        }
        self.flush();
    }
}

impl NoteNews {
    fn key(&self) -> String {
        match self {
            Self::Notice { severity, title, description } => {
                format!("notice {severity:?} {title}\n{}", description.as_deref().unwrap_or_default())
            }
            Self::Compaction { id, .. } => format!("compaction {id}"),
            Self::Plan { id, .. } | Self::PlanRemoved { id } => format!("plan {id}"),
        }
    }

    /// Returns what is shown from now on. `None` if there is nothing to show.
    fn content(self, before: Option<&NoteContent>) -> Option<NoteContent> {
        Some(match (self, before) {
            (Self::Notice { severity, title, description }, before) => {
                let count = match before {
                    Some(NoteContent::Notice { count, .. }) => count.saturating_add(1),
                    _ => 1,
                };
                NoteContent::Notice { severity, title, description, count }
            }
            (Self::Compaction { state, summary, error, .. }, before) => {
                let (known, mut text, known_error) = match before {
                    Some(NoteContent::Compaction { state, summary, error }) => {
                        (*state, summary.clone(), error.clone())
                    }
                    _ => (CompactionState::Running, None, None),
                };
                summary.apply(&mut text);
                let summary = text.map(|text| clip_bytes(&text, SUMMARY_BYTES));
                let state = state.unwrap_or(known);
                let error = error.or(known_error).filter(|_| state == CompactionState::Failed);
                NoteContent::Compaction { state, summary, error }
            }
            (Self::Plan { text, path, .. }, _) => {
                let text = clip_bytes(&text, PLAN_BYTES);
                NoteContent::Plan { text, path, removed: false }
            }
            (Self::PlanRemoved { .. }, Some(NoteContent::Plan { text, path, .. })) => {
                NoteContent::Plan { text: text.clone(), path: path.clone(), removed: true }
            }
            (Self::PlanRemoved { .. }, _) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(title: &str) -> NoteNews {
        NoteNews::Notice { severity: Severity::Warning, title: title.to_owned(), description: None }
    }

    fn compaction(state: CompactionState, summary: Change) -> NoteNews {
        NoteNews::Compaction { id: "c".to_owned(), state: Some(state), summary, error: None }
    }

    /// Takes the contents of what is due.
    fn taken(notes: &mut Notes, now: Instant) -> Vec<NoteContent> {
        let content = |update| match update {
            SessionUpdate::AgentNote(note) => note.content,
            other => panic!("{other:?}"),
        };
        notes.take(now).map(content).collect()
    }

    #[test]
    fn equal_notices_are_counted_and_a_flood_is_cut() {
        let (mut notes, now) = (Notes::default(), Instant::now());
        assert!(notes.apply(now, notice("Slow")));
        assert!(!notes.apply(now, notice("Slow")));
        let counted = NoteContent::Notice {
            severity: Severity::Warning,
            title: "Slow".to_owned(),
            description: None,
            count: 2,
        };
        assert_eq!(taken(&mut notes, now), [counted]);
        let shown = (0..1_000).filter(|n| notes.apply(now, notice(&n.to_string()))).count();
        assert_eq!(shown, NOTICES - 1);
        assert!(notes.apply(now + Duration::from_secs(61), notice("later")));
        assert_eq!(notes.known.len(), NOTICES + 1);
    }

    /// Claude Code reports the end twice, the second time without the summary.
    #[test]
    fn compaction_keeps_its_summary() {
        let (mut notes, now) = (Notes::default(), Instant::now());
        let set = || Change::Set("Done.".to_owned());
        assert!(notes.apply(now, compaction(CompactionState::Running, Change::None)));
        assert!(!notes.apply(now, compaction(CompactionState::Completed, set())));
        let end = NoteContent::Compaction {
            state: CompactionState::Completed,
            summary: Some("Done.".to_owned()),
            error: None,
        };
        assert_eq!(taken(&mut notes, now), [end]);
        notes.apply(now, compaction(CompactionState::Completed, Change::None));
        notes.flush();
        assert_eq!(taken(&mut notes, now), [], "nothing has changed");
        notes.apply(now, compaction(CompactionState::Completed, Change::Append(" All.".to_owned())));
        let long = Change::Append("x".repeat(2 * SUMMARY_BYTES));
        notes.apply(now, compaction(CompactionState::Running, long));
        notes.close("it exited");
        let [NoteContent::Compaction { state, summary, error }] = &taken(&mut notes, now)[..] else {
            panic!()
        };
        assert_eq!((*state, error.as_deref()), (CompactionState::Failed, Some("it exited")));
        let summary = summary.as_deref().unwrap();
        assert!(summary.starts_with("Done. All.x") && summary.len() < SUMMARY_BYTES + 4, "{}", summary.len());
    }

    #[test]
    fn plan_is_replaced_and_removed() {
        let (mut notes, now) = (Notes::default(), Instant::now());
        let plan = |text: &str| NoteNews::Plan { id: "p".to_owned(), text: text.to_owned(), path: None };
        assert!(!notes.apply(now, NoteNews::PlanRemoved { id: "p".to_owned() }), "there is none");
        let mut shown = 0;
        for n in 0..5_000_u32 {
            let now = now + Duration::from_millis(n.into());
            notes.apply(now, plan(&format!("# Plan {n}")));
            shown += taken(&mut notes, now).len();
        }
        assert!(shown < 10, "{shown}");
        notes.apply(now, NoteNews::PlanRemoved { id: "p".to_owned() });
        notes.flush();
        let gone = NoteContent::Plan { text: "# Plan 4999".to_owned(), path: None, removed: true };
        assert_eq!(taken(&mut notes, now), [gone]);
    }
}
