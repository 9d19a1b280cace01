//! The facts of a workspace's sessions that may answer a question.

use super::{
    cues::{BUILDS, Cue, REASONS, TESTS},
    hits::Hits,
    limits,
    question::Question,
    scope::Places,
};
use openagents_core::{budget::Budget, git::WorktreeScope, parallel, text::cut_at_word};
use openagents_transcripts::history::{Digest, Fact, History, Query, Transcript};
use std::path::Path;

/// The sessions of a workspace that were examined.
#[derive(Debug)]
pub(super) struct Gathered {
    /// Newest first.
    pub(super) sessions: Vec<Session>,
    /// A bound ended the search early.
    pub(super) truncated: bool,
}

/// The relevant data of one session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) row: Transcript,
    /// Words of the question in the title or branch.
    pub(super) title_hits: Hits,
    /// In transcript order; only facts of the question's time window.
    pub(super) facts: Vec<Seen>,
}

#[derive(Debug)]
pub(super) struct Seen {
    pub(super) kind: Kind,
    pub(super) line: u64,
    /// Milliseconds since the epoch.
    pub(super) at: Option<i64>,
    /// Shared by copies of the line in other transcripts.
    pub(super) origin: Option<u64>,
    /// A path in the workspace, a command, or text on one line, truncated around the first match.
    pub(super) text: String,
    /// Words of the question in the text.
    pub(super) hits: Hits,
    /// It concerns a file named by the question.
    pub(super) in_scope: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A user's prompt; `reason` if it contains one.
    Prompt {
        reason: bool,
    },
    Answer {
        reason: bool,
        last: bool,
    },
    Edited,
    Read,
    Ran {
        exit_code: Option<i32>,
        subject: Option<Cue>,
    },
    /// Number of unfinished tasks in the agent's list.
    OpenTasks(usize),
}

/// Reads the sessions of a workspace that may answer a question, newest first, until the budget is spent.
pub(super) fn gather(question: &Question, workspace: &Path, history: &History, budget: &Budget) -> Gathered {
    let query = Query {
        provider: question.agent,
        workspace: Some(workspace.to_owned()),
        since: question.window.as_ref().map(|window| window.from),
        ..Query::default()
    };
    let listing = history.list(&query, budget);
    let mut rows = listing.rows;
    if let Some(window) = &question.window {
        rows.retain(|row| row.created_at.is_none_or(|created| created < window.to));
    }
    // If nothing distinguishes the sessions, the newest suffice, unless the question asks for failed ones, which are
    // rare.
    if question.is_general() && question.window.is_none() && !question.asks(Cue::Failed) {
        rows.truncate(limits::ALIKE);
    }
    let words = history.word_lines(&question.literals());
    let cut = listing.timed_out || listing.unread > 0 || words.as_ref().is_some_and(|words| words.truncated);
    let scope = WorktreeScope::new(workspace);
    let read = |places: &mut Places, at: usize| {
        let row = &rows[at];
        let mut session = Session::new(question, row);
        // A missing transcript has no lines and no facts.
        let lines = words.as_ref().map(|words| history.lines_with(words, row, budget).unwrap_or_default());
        let may_answer = !session.title_hits.is_empty() || lines.as_ref().is_none_or(|it| !it.is_empty());
        if may_answer && let Ok(digest) = history.digest_with_lines(row, &lines.unwrap_or_default(), budget) {
            session.add_digest(question, &digest, places);
        }
        Some(session)
    };
    let sessions =
        parallel::map(rows.len(), limits::THREADS, || !budget.spent(), || Places::new(&scope), read);
    Gathered { sessions: sessions.into_iter().flatten().collect(), truncated: cut || budget.spent() }
}

impl Session {
    fn new(question: &Question, row: &Transcript) -> Self {
        let titled = [row.title.as_deref(), row.branch.as_deref()].into_iter().flatten();
        let hits = titled.map(|text| Hits::find(&question.words, &text.to_lowercase()).0);
        Self { row: row.clone(), title_hits: hits.fold(Hits::default(), Hits::or), facts: Vec::new() }
    }

    fn add_digest(&mut self, question: &Question, digest: &Digest, places: &mut Places) {
        let facts = &digest.facts;
        for prompt in &digest.prompts {
            let kind = Kind::Prompt { reason: has_reason(&prompt.what) };
            self.add_text(question, kind, prompt, &prompt.what);
        }
        for (at, message) in facts.messages.iter().enumerate() {
            let last = at + 1 == facts.messages.len();
            let kind = Kind::Answer { reason: has_reason(&message.what), last };
            self.add_text(question, kind, message, &message.what);
        }
        let row = self.row.clone();
        let folders = row.cwd.as_deref().zip(row.folder());
        for file in &facts.touched {
            let kind = if file.what.edited { Kind::Edited } else { Kind::Read };
            if let Some(path) = folders.and_then(|(cwd, now)| places.relative(&file.what.path, cwd, now)) {
                let hits = Hits::find(&question.words, &path.to_lowercase()).0;
                let in_scope = question.scopes.iter().any(|scope| scope.holds(&path));
                self.add(question, kind, file, path, hits, in_scope);
            }
        }
        for ran in &facts.commands {
            let kind = Kind::Ran { exit_code: ran.what.exit_code, subject: subject(&ran.what.command) };
            self.add_text(question, kind, ran, &ran.what.command);
        }
        if let Some(tasks) = &facts.tasks {
            let open = tasks.what.iter().filter(|task| !task.done).map(|task| task.text.as_str());
            let open: Vec<&str> = open.collect();
            if !open.is_empty() {
                self.add_text(question, Kind::OpenTasks(open.len()), tasks, &open.join("; "));
            }
        }
        self.facts.sort_by_key(|fact| fact.line);
    }

    fn add_text<T>(&mut self, question: &Question, kind: Kind, fact: &Fact<T>, text: &str) {
        let lower = text.to_lowercase();
        let (hits, first) = Hits::find(&question.words, &lower);
        let in_scope = question.scopes.iter().any(|scope| scope.is_named_in(&lower));
        // Changing the case may change the length, but hardly ever does.
        self.add(question, kind, fact, shortened(text, first.unwrap_or(0)), hits, in_scope);
    }

    fn add<T>(
        &mut self,
        question: &Question,
        kind: Kind,
        fact: &Fact<T>,
        text: String,
        hits: Hits,
        in_scope: bool,
    ) {
        let at = fact.at.unwrap_or(self.row.updated_at);
        let in_time = question.window.as_ref().is_none_or(|window| window.holds(at));
        // A fact without a line number cannot be cited.
        if in_time && fact.line > 0 {
            let Fact { line, at, origin, .. } = *fact;
            self.facts.push(Seen { kind, line, at, origin, text, hits, in_scope });
        }
    }
}

fn has_reason(text: &str) -> bool {
    let lower = text.to_lowercase();
    REASONS.split('|').any(|reason| lower.contains(reason))
}

/// Returns the kind of a command, which may start with `cd` or variable assignments.
fn subject(command: &str) -> Option<Cue> {
    let begins = |part: &str, with: &str| {
        part.strip_prefix(with)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
    };
    command.split(['&', ';', '|', '\n']).find_map(|part| {
        let words = part.split_whitespace();
        let part: Vec<&str> = words.skip_while(|word| word.contains('=') && !word.starts_with('-')).collect();
        let part = part.join(" ");
        // `make test` is a test although `make` builds.
        if TESTS.split('|').any(|with| begins(&part, with)) {
            Some(Cue::Test)
        } else {
            BUILDS.split('|').any(|with| begins(&part, with)).then_some(Cue::Build)
        }
    })
}

/// Returns one line of a text, starting shortly before a byte offset.
fn shortened(text: &str, place: usize) -> String {
    let place = text.floor_char_boundary(place);
    let before = text[..place].chars().rev().take(limits::TEXT / 3).map(char::len_utf8).sum::<usize>();
    let mut from = place - before;
    if from > 0 {
        from += text[from..place].find(char::is_whitespace).map_or(0, |space| space + 1);
    }
    let line = text[from..].split_whitespace().take(limits::TEXT).collect::<Vec<_>>().join(" ");
    let line = cut_at_word(&line, limits::TEXT);
    if from > 0 { format!("…{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_build_or_test() {
        for (command, expected) in [
            ("cargo build --release", Some(Cue::Build)),
            ("cd ui && npm run build", Some(Cue::Build)),
            ("RUST_LOG=debug cargo test -p core", Some(Cue::Test)),
            ("make test", Some(Cue::Test)),
            ("make", Some(Cue::Build)),
            ("makepkg", None),
            ("ls src", None),
        ] {
            assert_eq!(subject(command), expected, "{command}");
        }
    }

    #[test]
    fn shows_the_line_around_a_match() {
        assert_eq!(shortened("short text", 6), "short text");
        let long = format!("{} needle {}", "before ".repeat(60), "after ".repeat(60));
        let line = shortened(&long, long.find("needle").unwrap());
        assert!(line.starts_with("…before") && line.contains("needle") && line.ends_with('…'), "{line}");
        assert!(line.chars().count() <= limits::TEXT + 1);
    }
}
