//! Limits of reading the logs of other agents, each with its unit and its reason.

use std::time::Duration;

/// Directory entries read between two checks of the clock.
pub(crate) const ENTRIES_BETWEEN_CHECKS: usize = 256;
/// Threads that read logs for a list; more do not speed up a disk.
pub(crate) const LIST_THREADS: usize = 4;
/// Logs read between two writes to the cache, so that a concurrent list benefits early.
pub(crate) const LIST_PART: usize = 256;
/// Threads that read whole logs; more would slow down running agents.
pub(crate) const THREADS: usize = 2;
/// Minimum bytes of an id's prefix; shorter ones match by chance.
pub(crate) const ID_PREFIX: usize = 8;
/// Bytes of a small file that names a path.
pub(crate) const GIT_FILE: u64 = 16 << 10;

/// Bytes per read of a log; the budget is checked before each.
pub(crate) const CHUNK: usize = 64 << 10;
/// Bytes of a line; longer ones are images or dumps.
pub(crate) const LINE: usize = 1 << 20;
/// Records that may be joined on one line, and attempts to find the next one after a broken one.
pub(crate) const GLUED_RECORDS: usize = 64;
/// Bytes before the end of a log that are searched for undone turns: some 30 ms. Earlier turns stay as they are.
pub(crate) const UNDONE: u64 = 64 << 20;
/// The same for a log that has grown since it was indexed: users go back only a few turns.
pub(crate) const RECENTLY_UNDONE: u64 = 4 << 20;
/// Bytes of a record in which its parent is named: agents write it first.
pub(crate) const TREE_HEAD: usize = 512;
/// Bytes of a line where a session is shown to the user: a prompt with a screenshot is one line.
pub(crate) const SHOWN_LINE: usize = 8 << 20;
/// Bytes between the head and the tail of a log for counting lines, and bytes per read.
pub(crate) const COUNTED: u64 = 64 << 20;
pub(crate) const COUNT_CHUNK: usize = 256 << 10;
/// Bytes appended to a log since it was indexed that are searched separately.
pub(crate) const APPENDED: u64 = 4 << 20;
/// Bytes of a session that is one document; it has to be in memory.
pub(crate) const DOCUMENT: u64 = 64 << 20;
/// Bytes of a file about a session, which may hold its first prompt.
pub(crate) const MANIFEST: u64 = 1 << 20;
/// Ids of messages that number the lines of a document; a larger id is not a counter.
pub(crate) const NUMBERED: usize = 1 << 20;
/// Bytes of a chat of Gemini CLI in which its session is named.
pub(crate) const CHAT_HEAD: u64 = 4 << 10;
/// Time to wait for an agent's lock on its database: an agent's own changes take less, a migration more.
pub(crate) const DATABASE_BUSY: Duration = Duration::from_millis(250);
/// Attempts at a database that changes while it is read.
pub(crate) const DATABASE_READS: usize = 4;
/// Steps of a query between two checks of the clock: well below a millisecond.
pub(crate) const DATABASE_STEPS: i32 = 10_000;
/// Bytes of a database that is copied: it takes a second, and this much space until the next copy.
pub(crate) const DATABASE_COPY: u64 = 512 << 20;
/// Databases whose sessions are cached until they change: more than any agent has.
pub(crate) const DATABASES: usize = 8;
/// Time for reading one session of a database, which takes milliseconds.
pub(crate) const DATABASE_SESSION: Duration = Duration::from_secs(10);
/// Base64 characters in a row; a longer run is data, not text.
pub(crate) const BLOB: usize = 512;
/// Assumed compression ratio of a log at level 3, conservative.
pub(crate) const ZSTD_RATIO: u64 = 8;
/// Bytes of a compressed log without content, such as the index of a seekable one, which has 12 for each frame.
pub(crate) const ZSTD_SILENT: u64 = 1 << 20;

/// Bytes of a log that is summarised completely, so that turns can be counted.
pub(crate) const SUMMARY_WHOLE: u64 = 256 << 10;
/// Bytes read for the head of a summary. The first prompt comes after up to 82 KB; images before it can be larger.
pub(crate) const SUMMARY_HEAD: u64 = 8 << 20;
/// Bytes of each end, as in Claude Code's own list; the tail has the last turn's settings and token count.
pub(crate) const SUMMARY_END: u64 = 64 << 10;
/// Bytes of a line in a summary: a prompt with an image is a single line.
pub(crate) const SUMMARY_LINE: usize = 4 << 20;
/// Records of the head; Codex's own list reads ten and, until it finds a prompt, two hundred more.
pub(crate) const CODEX_HEAD_RECORDS: usize = 10;
pub(crate) const CODEX_MORE_RECORDS: usize = 200;
/// Bytes of a Claude Code log examined for the first line marked as the user's; an old log has none.
pub(crate) const CLAUDE_MARKS: u64 = 4 << 20;
/// Bytes of a Codex log examined to choose its streams.
pub(crate) const CODEX_STREAMS: u64 = 4 << 20;
/// Bytes of a fork and of its original that are examined for copied lines.
pub(crate) const COPIED: u64 = 8 << 20;
/// Bytes of Codex's thread names: room for 25,000 rows of about 150.
pub(crate) const CODEX_NAMES: u64 = 4 << 20;
pub(crate) const CODEX_NAME_LINE: usize = 64 << 10;
/// Far more than reading them takes; names are not worth waiting for.
pub(crate) const CODEX_NAMES_TIME: Duration = Duration::from_millis(250);

/// Characters of a title, as in Claude Code's own list.
pub(crate) const TITLE: usize = 200;
/// Lines at the start of a result that may hold an exit code; output follows them.
pub(crate) const RESULT_HEAD_LINES: usize = 6;
/// Bytes of a command; its start says what it does.
pub(crate) const COMMAND: usize = 1 << 10;
/// Tasks of a list, so that a damaged one cannot fill an answer.
pub(crate) const TASKS: usize = 50;

/// Bytes digested at the start, for the first prompt, and at the end, for titles and recent work.
pub(crate) const DIGEST_HEAD: u64 = 2 << 20;
pub(crate) const DIGEST_TAIL: u64 = 1 << 20;
/// Lines after a call that may have its result: agents write a few records of their own in between.
pub(crate) const RESULT_LINES: u64 = 8;
/// Bytes of a prompt, and prompts per transcript: the first and the latest ones.
pub(crate) const PROMPT: usize = 4 << 10;
pub(crate) const PROMPTS: usize = 200;
/// Bytes of a message; reasons are near the beginning. Messages per transcript, the latest ones.
pub(crate) const MESSAGE: usize = 2 << 10;
pub(crate) const MESSAGES: usize = 1000;
/// Touched files, and commands, per transcript, so that the longest one stays small in memory.
pub(crate) const ACTIONS: usize = 2000;
/// Recent commands searched for the call of an ended one, if ids are missing.
pub(crate) const NEAR: usize = 8;

/// Bytes of a searched line; longer ones are images or dumps.
pub(crate) const SEARCH_LINE: usize = 256 << 10;
/// Bytes that a search reads in logs after the indexed part of long sessions. The answer reports the rest as unsearched.
pub(crate) const SEARCH_REST: u64 = 1 << 20;
/// Lines that a search reads in logs because the index has only their beginning: some milliseconds each.
pub(crate) const SEARCH_LONG: usize = 200;
/// Lines with a word per transcript, so that a common word doesn't fill memory.
pub(crate) const WORD_LINES: usize = 1000;
/// Bytes of a context line; copying longer ones would cost more than the search.
pub(crate) const CONTEXT_LINE: usize = 16 << 10;
/// Lines of a log kept as context before a match; some have no text.
pub(crate) const CONTEXT_WINDOW: usize = 8;
/// Bytes of a compiled pattern, so that a hostile one cannot exhaust memory.
pub(crate) const PATTERN: usize = 4 << 20;

/// Characters of a sentence of intent: two lines of a terminal.
pub(crate) const SENTENCE: usize = 200;
/// List items in a sentence; more do not read as one.
pub(crate) const SENTENCE_ITEMS: usize = 4;
/// Share of the shorter sentence's words that two sentences of one theme have in common.
pub(crate) const THEME_OVERLAP: f64 = 0.5;
/// Minimum number of common words; a single one may be coincidence.
pub(crate) const THEME_WORDS: usize = 2;
