//! Limits and tuning constants of the agent loop. Lengths are in characters unless the name says otherwise.

use std::{ops::RangeInclusive, time::Duration};

/// Length of a conversation in characters if the model's context size is unknown.
pub(super) const CONVERSATION_CHARS: usize = 60_000;
/// Characters per token, a conservative estimate: code and languages other than English have fewer than English prose.
pub(super) const TOKEN_CHARS: usize = 3;
/// Maximum number of answers per turn; stops a model that loops.
pub(super) const ROUNDS: usize = 12;
/// Time limit of a turn. A slow machine needs minutes for a long answer.
pub(super) const TURN_TIME: Duration = Duration::from_secs(30 * 60);
/// Characters kept of an older result when the conversation no longer fits.
pub(super) const SHORTENED_CHARS: usize = 500;
/// Smallest context in tokens for a model that may search beyond the findings.
pub(super) const SMALL_CONTEXT: u32 = 8_192;
/// Token limit for a model that only words the findings.
pub(super) const WORDING_TOKENS: u32 = 240;

/// Polling interval for cancellation.
pub(super) const CANCEL_POLL: Duration = Duration::from_millis(10);
/// Capacity of the event channel; a model faster than its reader blocks.
pub(super) const EVENTS_AHEAD: usize = 32;
/// Longest answer in bytes, including reasoning; the model is stopped beyond it.
pub(super) const ANSWER_BYTES: usize = 1 << 20;
/// Minimum interval between reports of the same activity.
pub(super) const ACTIVITY_EVERY: Duration = Duration::from_millis(100);

/// Maximum number of calls per answer.
pub(super) const CALLS: usize = 16;
pub(super) const RESULT_CHARS: RangeInclusive<usize> = 1_000..=16_000;
/// Maximum length of a folder name in the instructions, in characters.
pub(super) const FOLDER_NAME_CHARS: usize = 100;

/// `gptoss.generate`: time limit of an answer.
pub(super) const GENERATE_TIME: Duration = Duration::from_secs(30 * 60);
/// `gptoss.generate`: maximum length of the findings for the task.
pub(super) const GENERATE_FINDINGS_CHARS: usize = 8_000;

pub(super) const TITLE_TIME: Duration = Duration::from_secs(10);
/// Title: token limit, including reasoning.
pub(super) const TITLE_TOKENS: u32 = 160;
pub(super) const TITLE_TEMPERATURE: f32 = 0.1;
/// Title: maximum length of the prompt in the request.
pub(super) const TITLE_PROMPT_CHARS: usize = 1_000;
/// Title: maximum length.
pub(super) const TITLE_CHARS: usize = 60;
pub(super) const TITLE_WORDS: RangeInclusive<usize> = 1..=8;
/// Maximum number of citations opened per line; a looping model's answer has thousands.
pub(super) const CITATIONS: usize = 200;
/// Time limit for opening the citations of a turn; later ones are not checked.
pub(super) const CITATIONS_TIME: Duration = Duration::from_secs(15);
/// Lines before and after a cited span that also count.
pub(super) const LINES_AROUND: u64 = 5;
/// Shortest shared prefix of two related words, in characters: `config` and `configuration`.
pub(super) const SHARED_PREFIX: usize = 4;
/// Bytes of a paragraph kept as context for its next citation.
pub(super) const PARAGRAPH_BYTES: usize = 2_000;
/// Maximum length of a finding's reason, in characters.
pub(super) const REASON_CHARS: usize = 160;
/// Minimum length of an excerpt worth including, in characters.
pub(super) const EXCERPT_CHARS: usize = 240;
