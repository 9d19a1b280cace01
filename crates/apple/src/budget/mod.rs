//! The budget of 4,096 tokens, and the reduction of larger requests.
//!
//! Reduction, in this order: descriptions of tools, the least important tools, older turns, long tool results, and
//! finally the end of the prompt. Everything that is sent has been counted.

pub use crate::limits::{ANSWER, CONTEXT};
use crate::{
    limits::{FRAME, INSTRUCTIONS_SHARE, MESSAGE, RESULTS, SHORT_RESULT, TOOL, TOOLS_SHARE},
    schema::OfferedTool,
};
use openagents_core::{
    agent_ids::{CODEX_RUN, DELEGATE, GENERATE},
    model::{Message, ModelRequest},
};

/// The most important tools; the others follow in the order in which they are offered.
const PRIORITY_TOOLS: [&str; 7] =
    [DELEGATE, CODEX_RUN, GENERATE, "fs.list_dir", "search.grep", "content.get_span", "session.list"];

/// A request that fits.
#[derive(Debug, Clone)]
pub struct Fitted {
    pub instructions: String,
    /// The conversation; the last message is the user's or a tool's result.
    pub messages: Vec<Message>,
    /// The tools, most important first.
    pub tools: Vec<OfferedTool>,
    /// The names of the tools that did not fit.
    pub left_out: Vec<String>,
    pub answer_tokens: u32,
    /// Tokens of everything except the answer.
    pub prompt_tokens: usize,
}

impl Fitted {
    /// Returns the tokens left for results and further answers after `used` tokens beyond the prompt.
    pub fn room(&self, used: usize) -> usize {
        (CONTEXT as usize).saturating_sub(self.answer_tokens as usize + self.prompt_tokens + used)
    }
}

/// Cuts a request down to [`CONTEXT`], as counted by `count`.
pub fn fit(request: &ModelRequest, count: Counter<'_>) -> Fitted {
    let answer_tokens = request.options.max_tokens.unwrap_or(ANSWER).clamp(1, ANSWER);
    let room = CONTEXT as usize - answer_tokens as usize - FRAME;

    let instructions = cut(&request.instructions, room / INSTRUCTIONS_SHARE, count);
    let mut left = room - count(&instructions).min(room);

    let (tools, left_out, cost) = fit_tools(request, (room / TOOLS_SHARE).min(left), count);
    left -= cost.min(left);

    let free = if tools.is_empty() { 0 } else { RESULTS };
    let messages = fit_messages(&request.messages, left.saturating_sub(free), count);
    let prompt_tokens = FRAME
        + count(&instructions)
        + cost
        + messages.iter().map(|message| message_cost(message, count)).sum::<usize>();
    Fitted { instructions, messages, tools, left_out, answer_tokens, prompt_tokens }
}

/// Returns the tools that fit into `room`, the names of the others, and their cost. If not all fit, all descriptions
/// are shortened, and then the least important tools are dropped.
fn fit_tools(
    request: &ModelRequest,
    room: usize,
    count: Counter<'_>,
) -> (Vec<OfferedTool>, Vec<String>, usize) {
    let rank =
        |name: &str| PRIORITY_TOOLS.iter().position(|first| *first == name).unwrap_or(PRIORITY_TOOLS.len());
    let mut specs: Vec<_> = request.tools.iter().collect();
    specs.sort_by_key(|spec| rank(&spec.name));
    let offered: Vec<_> = specs.into_iter().map(OfferedTool::new).collect();
    let all: usize = offered.iter().map(|tool| tool_cost(tool, count)).sum();
    if all <= room {
        return (offered, Vec::new(), all);
    }
    let (mut tools, mut left_out, mut cost) = (Vec::new(), Vec::new(), 0);
    for tool in offered.iter().map(OfferedTool::brief) {
        let tokens = tool_cost(&tool, count);
        if cost + tokens <= room {
            cost += tokens;
            tools.push(tool);
        } else {
            left_out.push(tool.name);
        }
    }
    (tools, left_out, cost)
}

fn tool_cost(tool: &OfferedTool, count: Counter<'_>) -> usize {
    TOOL + count(&tool.name) + count(&tool.description) + count(&tool.schema().to_json().to_string())
}

fn message_cost(message: &Message, count: Counter<'_>) -> usize {
    MESSAGE
        + match message {
            Message::User { text } => count(text),
            Message::Tool { name, text, .. } => count(name) + count(text),
            Message::Assistant(reply) => {
                // Reasoning is not sent to the model.
                let calls =
                    reply.calls.iter().map(|call| count(&call.name) + count(&call.arguments.to_string()));
                count(&reply.text) + calls.sum::<usize>()
            }
        }
}

/// Drops the oldest turns, then shortens the results of the current one, oldest first, then its prompt.
fn fit_messages(messages: &[Message], room: usize, count: Counter<'_>) -> Vec<Message> {
    let is_prompt = |message: &Message| matches!(message, Message::User { .. });
    let mut kept = messages.to_vec();
    let cost = |kept: &[Message]| kept.iter().map(|message| message_cost(message, count)).sum::<usize>();
    while cost(&kept) > room {
        let Some(next) = kept.iter().skip(1).position(is_prompt) else { break };
        kept.drain(..=next);
    }
    for place in 0..kept.len() {
        if cost(&kept) <= room {
            break;
        }
        if let Some(Message::Tool { text, .. }) = kept.get_mut(place) {
            *text = cut(text, SHORT_RESULT, count);
        }
    }
    // Still too long, as in a turn with very many calls.
    while cost(&kept) > room && kept.len() > 1 {
        let has_prompt = kept.first().is_some_and(is_prompt);
        let oldest = usize::from(has_prompt && kept.len() > 2);
        kept.remove(oldest);
        // Results are useless without their call.
        while kept.len() > oldest + 1 && matches!(kept.get(oldest), Some(Message::Tool { .. })) {
            kept.remove(oldest);
        }
    }
    if let (over @ 1.., Some(message)) = (cost(&kept).saturating_sub(room), kept.first_mut()) {
        let (Message::User { text } | Message::Tool { text, .. }) = message else { return kept };
        *text = cut(text, count(text).saturating_sub(over), count);
    }
    kept
}

/// Cuts a text to `room` tokens and adds a note. Returns an empty text if not even the note fits.
pub fn cut(text: &str, room: usize, count: Counter<'_>) -> String {
    const NOTE: &str = "\n(Cut: there is no room for more.)";
    if count(text) <= room {
        return text.to_owned();
    }
    let Some(room) = room.checked_sub(count(NOTE) + 1) else { return String::new() };
    // Finds the longest prefix that fits, to within a few characters.
    let (mut fits, mut too_long) = (0, text.len());
    while too_long - fits > 16 {
        let middle = text.floor_char_boundary(fits.midpoint(too_long));
        if middle <= fits {
            break;
        }
        if count(&text[..middle]) <= room { fits = middle } else { too_long = middle }
    }
    format!("{}{NOTE}", &text[..fits])
}

/// Counts the tokens of a text: the framework's own count, or [`estimate`].
pub type Counter<'a> = &'a dyn Fn(&str) -> usize;

/// Characters per token in a word of average length. Apple's technical note on the context window (TN3193) states three
/// to four characters, including spaces, for languages in Latin script, and one for Chinese, Japanese and Korean.
const LETTERS: usize = 4;

/// Minimum length of a rare word: a compound, a name, a key.
const RARE: usize = 12;
const RARE_LETTERS: usize = 3;

/// Estimates the tokens of a text, preferring to overestimate: one per four letters of a word, or per three if it is
/// long, one per digit, one per two consecutive signs, one per letter of another script, and three per emoji. A
/// single space belongs to the next word. A tokenizer with a vocabulary of 200,000 counts between half and nine
/// tenths of the estimate.
pub fn estimate(text: &str) -> usize {
    let mut tokens = 0;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let kind = CharKind::from_char(char);
        let mut length = 1;
        while chars.next_if(|next| CharKind::from_char(*next) == kind).is_some() {
            length += 1;
        }
        tokens += match kind {
            CharKind::Letter if length >= RARE => length.div_ceil(RARE_LETTERS),
            CharKind::Letter => length.div_ceil(LETTERS),
            CharKind::Sign => length.div_ceil(2),
            CharKind::Space => (length - 1).div_ceil(4),
            CharKind::Digit | CharKind::Script | CharKind::Break => length,
            CharKind::Rare => 3 * length,
        };
    }
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Letter,
    Digit,
    Space,
    /// Code symbols and punctuation.
    Sign,
    /// Line breaks, tabs and invisible characters.
    Break,
    /// Letters with accents, or of another script.
    Script,
    /// Everything else: emoji, mathematical symbols, joiners.
    Rare,
}

impl CharKind {
    fn from_char(char: char) -> Self {
        match char {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            ' ' => Self::Space,
            _ if char.is_ascii_punctuation() => Self::Sign,
            _ if char.is_ascii() => Self::Break,
            _ if char.is_alphanumeric() => Self::Script,
            _ => Self::Rare,
        }
    }
}

#[cfg(test)]
mod tests;
