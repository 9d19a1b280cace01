//! Limits and weights of questions about past sessions.

/// Sessions in an answer, and files of those sessions.
pub(super) const FINDINGS: usize = 10;
pub(super) const FILES: usize = 200;
/// Maximum sessions for a question that names only a time: the newest suffice.
pub(super) const ALIKE: usize = 40;
/// Characters of a prompt, an answer or a command: two lines of a terminal.
pub(super) const TEXT: usize = 200;
/// Facts in an excerpt, and their minimum score relative to the best.
pub(super) const FACTS: usize = 8;
pub(super) const NEARLY: f32 = 0.5;
/// Characters of a command or a path in the reason, and words there: the reason is one line.
pub(super) const NAME: usize = 60;
pub(super) const NAMED: usize = 4;

/// Weight of a word that no session contains: it may be a verb of another language.
pub(super) const ABSENT: f32 = 0.4;
/// Weight of a translation, which may be wrong.
pub(super) const TRANSLATED: f32 = 0.5;
/// Minimum share of the topic that a session must contain, for questions about history and about code.
pub(super) const TOPIC: f32 = 0.25;
pub(super) const TOPIC_OF_CODE: f32 = 0.5;
/// Maximum score of a session if the question may be about code, and if it is likely about history.
pub(super) const CODE: f32 = 0.6;
pub(super) const LIKELY: f32 = 0.85;
/// Factor per newer session, if the newest is requested and otherwise.
pub(super) const NEWEST: f32 = 0.85;
pub(super) const NEWER: f32 = 0.97;
/// Minimum score; weaker sessions match by chance.
pub(super) const LEAST: f32 = 0.1;

/// Minimum characters of a stem; shorter words have no other forms.
pub(super) const STEM: usize = 4;
/// Stems of this many characters match inside identifiers, and with up to `BEHIND` letters behind them.
pub(super) const LONG: usize = 6;
pub(super) const BEHIND: usize = 5;

/// Threads that read whole transcripts; more would slow down running agents.
pub(super) const THREADS: usize = 2;
