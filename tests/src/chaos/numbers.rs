//! Embeds a number into everything an agent sends, and extracts it from what a client is
//! shown: `⟦17|quiet river stone⟧`.
//!
//! The words are derived from the number, so a text that was cut, mixed or changed on its way is detected.

use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// A kind of item that the agent sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A piece of an answer.
    Text,
    Thought,
    /// A tool call.
    Call,
    /// An update of a running tool call.
    News,
    End,
    /// A plan, which replaces the previous one.
    Plan,
    /// A question to the user.
    Ask,
}

/// An item in one update of a log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// An item that the agent sent.
    Said(Kind, u64),
    Prompt(String),
    /// The outcome of a question: the chosen option, if any.
    Outcome(u64, Option<String>),
    /// The end of a call that the bridge added because the agent could not.
    Closed(u64),
    /// Text from the bridge.
    Words(String),
    /// Anything else from the bridge: titles, modes, abandoned plans.
    Other,
}

/// Returns a text that contains a number; one in forty is long enough to fill a slow socket.
pub fn text(number: u64) -> String {
    framed(number, &words(number, true))
}

/// Returns a sentence that contains a number.
pub fn sentence(number: u64) -> String {
    framed(number, &words(number, false))
}

fn framed(number: u64, words: &str) -> String {
    format!("{OPEN}{number}|{words}{CLOSE}")
}

fn words(number: u64, may_be_long: bool) -> String {
    const WORDS: [&str; 12] = [
        "river",
        "stone",
        "quiet",
        "lamp",
        "north",
        "seven",
        "paper",
        "été",
        "yellow",
        "\"quoted\"",
        "door",
        "後",
    ];
    let mut random = fastrand::Rng::with_seed(number);
    let count = match random.u8(0..40) {
        0 if may_be_long => random.usize(400..3000),
        _ => random.usize(1..10),
    };
    let mut text = String::new();
    for _ in 0..count {
        text.push_str(random.choice(WORDS).unwrap_or_default());
        // Paragraph breaks: an endpoint may show a paragraph before the next one has arrived.
        text.push_str(if may_be_long && random.u8(0..25) == 0 { "\n\n" } else { " " });
    }
    text.truncate(text.trim_end().len());
    text
}

pub fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let broken = || format!("a text is broken: {:?}", rest.chars().take(80).collect::<String>());
        let framed = rest.strip_prefix(OPEN).and_then(|rest| rest.split_once(CLOSE));
        let (inside, after) = framed.ok_or_else(broken)?;
        found.push(number_of(inside).ok_or_else(broken)?);
        rest = after;
    }
    Ok(found)
}

/// Reads the text between the brackets, ignoring changes in white space.
pub(super) fn number_of(inside: &str) -> Option<u64> {
    let (number, reply) = inside.split_once('|')?;
    let number = number.parse().ok()?;
    [true, false].iter().any(|long| same_words(reply, &words(number, *long))).then_some(number)
}

fn same_words(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// Returns the number of an unfinished text, if it begins with the words of that number.
pub(super) fn begins_with(inside: &str) -> Option<u64> {
    let (number, reply) = inside.split_once('|')?;
    let number = number.parse().ok()?;
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    squeezed(&words(number, true)).starts_with(&squeezed(reply)).then_some(number)
}

pub(super) const fn brackets() -> (char, char) {
    (OPEN, CLOSE)
}

pub fn prompt(name: &str) -> String {
    format!("Prompt {name}")
}

pub fn prompt_name(text: &str) -> Option<&str> {
    text.strip_prefix("Prompt ")?.split_whitespace().next()
}

pub fn call_id(number: u64) -> String {
    format!("call-{number}")
}

/// Parses the number from a [`call_id`].
pub fn call_number(id: &str) -> Option<u64> {
    id.strip_prefix("call-")?.parse().ok()
}

/// Returns a hash of a frame, to detect differing frames.
pub fn fingerprint(frame: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    frame.hash(&mut hasher);
    hasher.finish()
}

/// Returns the items of an update in the format of the ACP endpoint, or the problem with it.
pub fn items(update: &Value) -> Result<Vec<Item>, String> {
    let ours = &update["_meta"]["openagents"];
    let broken = || format!("an update of nobody: {}", head(&update.to_string()));
    let reply = |kind: Kind, text: &str| -> Result<Vec<Item>, String> {
        Ok(numbers(text)?.into_iter().map(|number| Item::Said(kind, number)).collect())
    };
    let chunk = |kind: Kind| {
        let text = update["content"]["text"].as_str().ok_or_else(broken)?;
        if is_of_the_bridge(text) { Ok(vec![Item::Words(text.to_owned())]) } else { reply(kind, text) }
    };
    match update["sessionUpdate"].as_str().ok_or_else(broken)? {
        "user_message_chunk" => {
            let text = update["content"]["text"].as_str().ok_or_else(broken)?;
            Ok(vec![Item::Prompt(prompt_name(text).unwrap_or(text).to_owned())])
        }
        "agent_message_chunk" => chunk(Kind::Text),
        "agent_thought_chunk" => chunk(Kind::Thought),
        "plan" if ours["state"] == "running" => {
            reply(Kind::Plan, ours["goals"][0].as_str().ok_or_else(broken)?)
        }
        "tool_call" => {
            let number = update["toolCallId"].as_str().and_then(call_number).ok_or_else(broken)?;
            Ok(vec![Item::Said(Kind::Call, number)])
        }
        "tool_call_update" => {
            let call = update["toolCallId"].as_str().and_then(call_number).ok_or_else(broken)?;
            if let Some(approval) = ours.get("approval") {
                let number = approval["title"].as_str().and_then(|title| numbers(title).ok());
                let number = number.and_then(|numbers| numbers.first().copied()).ok_or_else(broken)?;
                return Ok(vec![match approval["state"].as_str() {
                    Some("pending") => Item::Said(Kind::Ask, number),
                    _ => Item::Outcome(number, approval["optionId"].as_str().map(str::to_owned)),
                }]);
            }
            let news = ours["note"].as_str().or_else(|| update["content"][0]["content"]["text"].as_str());
            match (update["status"].as_str(), news) {
                (Some("completed"), _) => {
                    let number = update["rawOutput"]["number"].as_u64().ok_or_else(broken)?;
                    Ok(vec![Item::Said(Kind::End, number)])
                }
                (Some("failed"), _) => match ours["error"].as_str().and_then(|text| numbers(text).ok()) {
                    Some(numbers) => {
                        Ok(numbers.iter().map(|number| Item::Said(Kind::End, *number)).collect())
                    }
                    None => Ok(vec![Item::Closed(call)]),
                },
                (_, Some(news)) => reply(Kind::News, news),
                // A snapshot ends a thought with an empty update. A missing item is detected by its number.
                (_, None) => Ok(Vec::new()),
            }
        }
        _ => Ok(vec![Item::Other]),
    }
}

/// Returns whether a text is the bridge's own: the end of a turn whose agent could not report it.
pub(super) fn is_of_the_bridge(text: &str) -> bool {
    text.is_empty() || text.starts_with('❌') || text.starts_with("Cancelled")
}

pub(super) fn head(text: &str) -> String {
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_round_trip() {
        let numbers_in: Vec<u64> = (0..500).collect();
        let joined: String = numbers_in.iter().map(|number| text(*number)).collect();
        assert_eq!(numbers(&joined).unwrap(), numbers_in);
        assert_eq!(numbers(&sentence(7)).unwrap(), [7]);
        assert!((0..500).any(|number| text(number).len() > 4000));
        assert!((0..500).any(|number| text(number).contains("\n\n")));
    }

    #[test]
    fn changed_text_is_detected() {
        let whole = text(3);
        for broken in [
            whole.replace('3', "4"),
            whole.replace(CLOSE, "x⟧"),
            whole.replace(CLOSE, ""),
            format!("x{whole}"),
            format!("{whole} "),
        ] {
            assert!(numbers(&broken).is_err(), "{broken}");
        }
        assert_eq!(numbers("").unwrap(), Vec::<u64>::new());
    }

    #[test]
    fn bridge_text_is_not_agent_text() {
        let ours = |ours: Value| json!({"openagents": ours});
        let of = |update: Value| items(&update).unwrap();
        let chunk = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"text": text}});
        assert_eq!(of(chunk(&(text(1) + &text(2)))), [Item::Said(Kind::Text, 1), Item::Said(Kind::Text, 2)]);
        let words = "❌ OpenAgents exited before this answer was done.";
        assert_eq!(of(chunk(words)), [Item::Words(words.to_owned())]);
        assert!(items(&chunk("something else")).is_err());
        let plan = |state| {
            let meta = ours(json!({"state": state, "goals": [sentence(5)]}));
            json!({"sessionUpdate": "plan", "_meta": meta})
        };
        assert_eq!(of(plan("running")), [Item::Said(Kind::Plan, 5)]);
        assert_eq!(of(plan("failed")), [Item::Other]);
        let update = |more: Value| {
            let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": call_id(4)});
            update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            update
        };
        let failed =
            |error: &str| update(json!({"status": "failed", "_meta": ours(json!({"error": error}))}));
        assert_eq!(of(failed(&sentence(6))), [Item::Said(Kind::End, 6)]);
        assert_eq!(of(failed("The app ended before this was done")), [Item::Closed(4)]);
        let done = update(json!({"status": "completed", "rawOutput": {"number": 8}}));
        assert_eq!(of(done), [Item::Said(Kind::End, 8)]);
        let approval = |state: Value| {
            let mut approval = json!({"title": sentence(9)});
            approval.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
            update(json!({"_meta": ours(json!({"approval": approval}))}))
        };
        assert_eq!(of(approval(json!({"state": "pending"}))), [Item::Said(Kind::Ask, 9)]);
        let answered = approval(json!({"state": "answered", "optionId": "allow"}));
        assert_eq!(of(answered), [Item::Outcome(9, Some("allow".to_owned()))]);
        assert_eq!(of(approval(json!({"state": "withdrawn"}))), [Item::Outcome(9, None)]);
    }
}
