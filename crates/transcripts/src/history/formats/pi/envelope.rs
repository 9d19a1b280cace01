//! Strips the text that OpenClaw puts around a prompt: system notes, facts about the sender, and the time.

/// Returns the typed part of a user's message; empty if there is none.
pub(super) fn typed(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let shorter = after_time(rest).or_else(|| after_facts(rest)).or_else(|| after_system(rest));
        match shorter {
            Some(shorter) => rest = shorter.trim(),
            None => return rest,
        }
    }
}

/// Skips a paragraph such as `System: [2026-03-21 19:16:00 UTC] Gateway restarted`.
fn after_system(text: &str) -> Option<&str> {
    let note = text.strip_prefix("System: [")?;
    Some(note.split_once("\n\n").map_or("", |(_, rest)| rest))
}

/// Skips a line such as `Sender (untrusted metadata):` and the fenced JSON below it.
fn after_facts(text: &str) -> Option<&str> {
    let (label, rest) = text.split_once('\n')?;
    let is_label = label.contains("(untrusted") && label.trim_end().ends_with(':');
    let (_, rest) = rest.trim_start().strip_prefix("```").filter(|_| is_label)?.split_once('\n')?;
    let close = if rest.starts_with("```") { 0 } else { rest.find("\n```")? + 1 };
    Some(&rest[close + 3..])
}

/// Skips a time such as `[Sat 2026-03-21 19:16 UTC] `.
fn after_time(text: &str) -> Option<&str> {
    let (time, rest) = text.strip_prefix('[')?.split_once("] ")?;
    let mut words = time.split(' ');
    let day = words.next().is_some_and(|day| day.len() == 3 && day.chars().all(|c| c.is_ascii_alphabetic()));
    let date = words.next().is_some_and(|date| date.parse::<jiff::civil::Date>().is_ok());
    let clock = words.next().is_some_and(|clock| clock.contains(':'));
    (day && date && clock).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row() {
        let sender = "Sender (untrusted metadata):\n```json\n{\n  \"label\": \"x\"\n}\n```\n\n";
        let time = "[Sat 2026-03-21 19:16 UTC] ";
        let rows = [
            (format!("{sender}{time}list the files"), "list the files"),
            (
                format!("System: [2026-03-21 19:16:00 UTC] a\nSystem: [x] b\n\n{sender}{time}go\n\non"),
                "go\n\non",
            ),
            (format!("Conversation info (untrusted metadata):\n```json\n{{}}\n```\n\n{sender}go"), "go"),
            (format!("{time}Sender (untrusted metadata):\n```json\n{{}}\n```\n\ngo"), "go"),
            ("System: [2026-03-21 19:16:00 UTC] restarted".to_owned(), ""),
            ("Sender (untrusted metadata):\n```json\n```\ngo".to_owned(), "go"),
            // The user's own words.
            ("[x] is a box".to_owned(), "[x] is a box"),
            (
                "Sender (untrusted metadata): what is that?".to_owned(),
                "Sender (untrusted metadata): what is that?",
            ),
            ("```\ncode\n```".to_owned(), "```\ncode\n```"),
            (
                "Sender (untrusted):\n```json\nnever ends".to_owned(),
                "Sender (untrusted):\n```json\nnever ends",
            ),
            (String::new(), ""),
        ];
        for (text, expected) in rows {
            assert_eq!(typed(&text), expected, "{text:?}");
        }
    }
}
