//! Parses message headers written by a model: role, channel and recipient.

use crate::limits::MESSAGE_HEADER_BYTES;

/// The text between `<|start|>` and `<|message|>`.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageHeader {
    /// Whether `<|start|>` was present; otherwise the role may be any text between two messages.
    pub(super) started: bool,
    role: Vec<u8>,
    /// The text after the last `<|channel|>`.
    channel: Option<Vec<u8>>,
    /// The text after `<|constrain|>`.
    constrain: Option<Vec<u8>>,
}

/// A parsed header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) channel: Channel,
    /// As written by the model: `functions.fs_list_dir`.
    pub(super) recipient: Option<String>,
    pub(super) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Analysis,
    Commentary,
    Final,
    /// Missing or unknown: possibly reasoning.
    Unknown,
    /// A message with the role of another party.
    Foreign,
}

/// Roles other than the model's.
const FOREIGN: [&str; 5] = ["user", "system", "developer", "tool", "functions."];

const ASSISTANT: &str = "assistant";

impl MessageHeader {
    /// The header at the end of a prompt.
    pub(super) fn of_answer() -> Self {
        Self { started: true, role: ASSISTANT.into(), ..Self::default() }
    }

    pub(super) fn started() -> Self {
        Self { started: true, ..Self::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let part = match (&mut self.constrain, &mut self.channel) {
            (Some(constrain), _) => constrain,
            (None, Some(channel)) => channel,
            (None, None) => &mut self.role,
        };
        if part.len() < MESSAGE_HEADER_BYTES {
            part.extend(bytes);
        }
    }

    /// `<|channel|>`: the channel follows; the last one counts.
    pub(super) fn begin_channel(&mut self) {
        // The rest of an earlier channel still counts.
        if let Some(channel) = self.channel.replace(Vec::new()) {
            self.role.push(b' ');
            self.role.extend(recipient_words(&text(&channel)));
        }
        self.constrain = None;
    }

    /// `<|constrain|>`: the format of the body follows.
    pub(super) fn begin_constrain(&mut self) {
        self.constrain.get_or_insert_default();
    }

    pub(super) fn unaddressed(&self) -> String {
        if self.channel.is_some() || self.constrain.is_some() {
            return String::new();
        }
        let role = text(&self.role);
        role.strip_prefix(ASSISTANT).unwrap_or(&role).trim().to_owned()
    }

    pub(super) fn address(&self) -> Address {
        let role = text(&self.role);
        let channel = self.channel.as_ref().map(|channel| text(channel));
        let constrain = self.constrain.as_ref().map(|constrain| text(constrain));
        let role = role.trim();
        let own = match role.strip_prefix(ASSISTANT) {
            Some(own) => own,
            None if self.is_foreign(role) => {
                return Address { channel: Channel::Foreign, recipient: None, json: false };
            }
            None => role,
        };
        let (own, in_role) = cut_recipient(own);
        let (name, in_channel) = channel.as_deref().map_or((own.clone(), None), cut_recipient);
        let in_constrain = constrain.as_deref().and_then(|constrain| cut_recipient(constrain).1);
        let recipient = in_role.or(in_channel).or(in_constrain);
        let recipient = recipient.filter(|name| !["assistant", "user", "all", ""].contains(&name.as_str()));
        let words: Vec<&str> = name.split_whitespace().collect();
        let json = constrain.is_some() || words.iter().skip(1).any(|word| ["json", "code"].contains(word));
        // A recipient without `to=` is accepted.
        let bare = || words.iter().find(|word| word.starts_with("functions.")).map(|word| (*word).to_owned());
        Address { channel: channel_of(&name), recipient: recipient.or_else(bare), json }
    }

    fn is_foreign(&self, role: &str) -> bool {
        if self.started {
            return !role.is_empty() && channel_of(role) == Channel::Unknown && !role.starts_with("to=");
        }
        let last = role.split_whitespace().next_back().unwrap_or_default();
        FOREIGN.iter().any(|foreign| last.starts_with(foreign)) || role.contains("functions.")
    }
}

/// Finds the channel by its prefix; whatever follows is ignored.
fn channel_of(name: &str) -> Channel {
    let name = name.trim_start().to_ascii_lowercase();
    let known =
        [("analysis", Channel::Analysis), ("comment", Channel::Commentary), ("final", Channel::Final)];
    known
        .into_iter()
        .find(|(begin, _)| name.starts_with(begin))
        .map_or(Channel::Unknown, |(_, channel)| channel)
}

/// Removes `to=NAME` from a part of a header, even if it is glued to its neighbours.
fn cut_recipient(part: &str) -> (String, Option<String>) {
    let Some((before, after)) = part.split_once("to=") else { return (part.to_owned(), None) };
    let after = after.trim_start();
    let end = after.find(|letter: char| letter.is_whitespace() || letter == '<').unwrap_or(after.len());
    let (recipient, rest) = after.split_at(end);
    (format!("{before} {rest}"), Some(recipient.to_owned()))
}

fn recipient_words(part: &str) -> Vec<u8> {
    cut_recipient(part).1.map(|recipient| format!("to={recipient}").into_bytes()).unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a header written as text; `|c|` is `<|channel|>`, `|j|` is `<|constrain|>`, a leading `|s|` is
    /// `<|start|>`.
    fn read(text: &str) -> (Channel, Option<String>, bool) {
        let mut header =
            if text.starts_with("|s|") { MessageHeader::started() } else { MessageHeader::default() };
        let mut rest = text.trim_start_matches("|s|");
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("|c|") {
                header.begin_channel();
                rest = after;
            } else if let Some(after) = rest.strip_prefix("|j|") {
                header.begin_constrain();
                rest = after;
            } else {
                let (letter, after) = rest.split_at(1);
                header.push(letter.as_bytes());
                rest = after;
            }
        }
        let address = header.address();
        (address.channel, address.recipient, address.json)
    }

    #[test]
    fn headers_of_models_are_parsed() {
        use Channel::{Analysis, Commentary, Final, Foreign, Unknown};
        let x = || Some("functions.x".to_owned());
        let rows = [
            ("|s|assistant|c|final", Final, None, false),
            ("|s|assistant|c|analysis", Analysis, None, false),
            ("|s|assistant|c|commentary", Commentary, None, false),
            ("|s|assistant to=functions.x|c|commentary |j|json", Commentary, x(), true),
            ("|s|assistant|c|commentary to=functions.x |j|json", Commentary, x(), true),
            ("|s|assistant|c|commentary to=functions.x|j|json", Commentary, x(), true),
            ("|s|assistant|c|commentaryto=functions.x|j|json", Commentary, x(), true),
            ("|s|assistant|c|commentary to=functions.x json", Commentary, x(), true),
            ("|s|assistant|c|commentary json to=functions.x", Commentary, x(), true),
            ("|s|assistant|c|analysis to=functions.x code", Analysis, x(), true),
            ("|s|assistantto=functions.x|c|commentary", Commentary, x(), false),
            ("|s|assistant|c|commentary |j|json to=functions.x", Commentary, x(), true),
            ("|s|assistant|c|commentary to= functions.x", Commentary, x(), false),
            ("|s|assistant|c|commentary functions.x", Commentary, x(), false),
            ("|s|assistant|c|commentary |j|json", Commentary, None, true),
            ("|s|assistantfinal", Final, None, false),
            ("|s|assistant commentary to=functions.x json", Commentary, x(), true),
            ("|s|final", Final, None, false),
            ("|s||c|final", Final, None, false),
            ("|s|assistant|c|Final answer", Final, None, false),
            ("|s|assistant|c|finalassistant", Final, None, false),
            ("|s|assistant|c|analysis|c|final", Final, None, false),
            ("|s|assistant|c|commentary to=functions.x|c|commentary", Commentary, x(), false),
            ("|s|assistant to=user|c|final", Final, None, false),
            ("|s|assistant", Unknown, None, false),
            ("|s|assistant|c|justify", Unknown, None, false),
            ("|s|user", Foreign, None, false),
            ("|s|functions.x to=assistant|c|commentary", Foreign, None, false),
            ("|s|system|c|final", Foreign, None, false),
            // Without `<|start|>`, after another message.
            ("assistant|c|final", Final, None, false),
            ("|c|final", Final, None, false),
            ("\n\n junk |c|final", Final, None, false),
            ("junk functions.x to=assistant|c|commentary", Foreign, None, false),
            ("\nuser|c|final", Foreign, None, false),
        ];
        for (header, channel, recipient, json) in rows {
            assert_eq!(read(header), (channel, recipient, json), "{header}");
        }
    }
}
