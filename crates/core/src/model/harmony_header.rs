//! Headers of messages in Harmony, the format of gpt-oss, as models write them: role, channel and recipient.
//!
//! The markers around the parts are tokens if we run the model, and text if a server does not parse them.

/// Maximum bytes of a part of a header; the rest of it is dropped.
const PART_BYTES: usize = 64 << 10;

/// The text between `<|start|>` and `<|message|>`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HarmonyHeader {
    /// Whether `<|start|>` was present; otherwise the role may be any text between two messages.
    pub started: bool,
    role: Vec<u8>,
    /// The text after the last `<|channel|>`.
    channel: Option<Vec<u8>>,
    /// The text after `<|constrain|>`.
    constrain: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarmonyAddress {
    /// The purpose of the message.
    pub channel: HarmonyChannel,
    /// The tool of a call, as written by the model: `functions.fs_list_dir`.
    pub recipient: Option<String>,
    /// The body is declared as JSON or code.
    pub json: bool,
}

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarmonyChannel {
    /// Reasoning.
    Analysis,
    /// Text before a call.
    Commentary,
    /// The answer.
    Final,
    /// No channel was written: possibly reasoning.
    Missing,
    /// Any other word: possibly reasoning.
    Unknown,
    /// A message with the role of another party.
    Foreign,
}

const FOREIGN: [&str; 5] = ["user", "system", "developer", "tool", "functions."];

const ASSISTANT: &str = "assistant";

impl HarmonyHeader {
    /// Returns the header that ends a prompt, which the model continues.
    pub fn of_answer() -> Self {
        Self { started: true, role: ASSISTANT.into(), ..Self::default() }
    }

    /// Returns the header after `<|start|>`.
    pub fn started() -> Self {
        Self { started: true, ..Self::default() }
    }

    /// Adds text to the current part.
    pub fn push(&mut self, bytes: &[u8]) {
        let part = match (&mut self.constrain, &mut self.channel) {
            (Some(constrain), _) => constrain,
            (None, Some(channel)) => channel,
            (None, None) => &mut self.role,
        };
        if part.len() < PART_BYTES {
            part.extend(bytes);
        }
    }

    /// Handles `<|channel|>`: the channel follows; the last one counts.
    pub fn begin_channel(&mut self) {
        // The recipients in an earlier channel still count.
        if let Some(channel) = self.channel.replace(Vec::new()) {
            let mut recipients = Vec::new();
            cut_recipients(&text(&channel), &mut recipients);
            recipients.iter().for_each(|recipient| self.role.extend(format!(" to={recipient}").bytes()));
        }
        self.constrain = None;
    }

    /// Handles `<|constrain|>`: the format of the body follows.
    pub fn begin_constrain(&mut self) {
        self.constrain.get_or_insert_default();
    }

    /// Returns the text of a header that has only a role: a body without its markers.
    pub fn unaddressed(&self) -> String {
        if self.channel.is_some() || self.constrain.is_some() {
            return String::new();
        }
        let role = text(&self.role);
        role.strip_prefix(ASSISTANT).unwrap_or(&role).trim().to_owned()
    }

    /// Parses the parts. The first recipient that is a tool counts.
    pub fn address(&self) -> HarmonyAddress {
        let role = text(&self.role);
        let channel = self.channel.as_ref().map(|channel| text(channel));
        let constrain = self.constrain.as_ref().map(|constrain| text(constrain));
        let role = role.trim();
        let own = match role.strip_prefix(ASSISTANT) {
            Some(own) => own,
            None if self.is_foreign(role) => {
                return HarmonyAddress { channel: HarmonyChannel::Foreign, recipient: None, json: false };
            }
            None => role,
        };
        let mut recipients = Vec::new();
        let own = cut_recipients(own, &mut recipients);
        let name = channel.as_deref().map_or(own, |channel| cut_recipients(channel, &mut recipients));
        cut_recipients(constrain.as_deref().unwrap_or_default(), &mut recipients);
        let recipient =
            recipients.into_iter().find(|name| !["assistant", "user", "all", ""].contains(&name.as_str()));
        let words: Vec<&str> = name.split_whitespace().collect();
        let json = constrain.is_some() || words.iter().skip(1).any(|word| ["json", "code"].contains(word));
        // A recipient without `to=` is accepted.
        let bare = || words.iter().find(|word| word.starts_with("functions.")).map(|word| (*word).to_owned());
        HarmonyAddress { channel: channel_of(&name), recipient: recipient.or_else(bare), json }
    }

    fn is_foreign(&self, role: &str) -> bool {
        if self.started {
            return channel_of(role) == HarmonyChannel::Unknown && !role.starts_with("to=");
        }
        let last = role.split_whitespace().next_back().unwrap_or_default();
        FOREIGN.iter().any(|foreign| last.starts_with(foreign)) || role.contains("functions.")
    }
}

/// Finds the channel by the beginning of its first word; ignores punctuation before it and anything after it.
fn channel_of(name: &str) -> HarmonyChannel {
    let word = name.trim_start_matches(|letter: char| !letter.is_alphanumeric()).to_ascii_lowercase();
    let known = [
        ("analysis", HarmonyChannel::Analysis),
        ("comment", HarmonyChannel::Commentary),
        ("final", HarmonyChannel::Final),
    ];
    match known.into_iter().find(|(begin, _)| word.starts_with(begin)) {
        Some((_, channel)) => channel,
        None if name.trim().is_empty() => HarmonyChannel::Missing,
        None => HarmonyChannel::Unknown,
    }
}

/// Removes each `to=NAME` from a part of a header, even if it is glued to its neighbours.
fn cut_recipients(part: &str, recipients: &mut Vec<String>) -> String {
    let (mut kept, mut rest) = (String::new(), part);
    while let Some((before, after)) = rest.split_once("to=") {
        let after = after.trim_start();
        let end = after.find(|letter: char| letter.is_whitespace() || letter == '<').unwrap_or(after.len());
        let (recipient, following) = after.split_at(end);
        recipients.push(recipient.to_owned());
        kept.push_str(before);
        kept.push(' ');
        rest = following;
    }
    kept + rest
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a header written as text; `|c|` is `<|channel|>`, `|j|` is `<|constrain|>`, a leading `|s|` is
    /// `<|start|>`.
    fn parse(text: &str) -> (HarmonyChannel, Option<String>, bool) {
        let mut header =
            if text.starts_with("|s|") { HarmonyHeader::started() } else { HarmonyHeader::default() };
        let mut rest = text.trim_start_matches("|s|");
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("|c|") {
                header.begin_channel();
                rest = after;
            } else if let Some(after) = rest.strip_prefix("|j|") {
                header.begin_constrain();
                rest = after;
            } else {
                let (letter, after) = rest.split_at(rest.chars().next().unwrap().len_utf8());
                header.push(letter.as_bytes());
                rest = after;
            }
        }
        let address = header.address();
        (address.channel, address.recipient, address.json)
    }

    #[test]
    fn header_addresses_parse() {
        use HarmonyChannel::{Analysis, Commentary, Final, Foreign, Missing, Unknown};
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
            ("|s|assistant", Missing, None, false),
            ("|s|assistant|c|justify", Unknown, None, false),
            ("|s|assistant|c|??", Unknown, None, false),
            ("|s|assistant|c|––final", Final, None, false),
            ("|s|assistant|c|––commentary to=functions.x |j|json", Commentary, x(), true),
            (
                "|s|assistant|c|commentary to=assistant|c|commentary to=functions.x |j|json",
                Commentary,
                x(),
                true,
            ),
            ("|s|assistant|c|commentary to=assistant to=functions.x", Commentary, x(), false),
            ("|s|assistant to=user|c|commentary to=functions.x", Commentary, x(), false),
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
            assert_eq!(parse(header), (channel, recipient, json), "{header}");
        }
    }
}
