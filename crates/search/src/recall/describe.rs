//! Formats a ranked session as a finding: its lines and its reason.

use super::{
    gather::{Kind, Seen},
    hits::{Hits, WORDS},
    limits,
    question::Question,
    rank::Ranked,
};
use jiff::{Timestamp, Zoned};
use openagents_core::{
    text::cut_at_word,
    update::{Finding, FindingKind, Place},
};
use std::collections::HashSet;

/// Returns the finding; `None` if the session has no facts.
pub(super) fn finding(question: &Question, ranked: &Ranked<'_>, now: &Zoned) -> Option<Finding> {
    let (best, weight) = *ranked.facts.first()?;
    let mut reply = HashSet::new();
    let shown = ranked.facts.iter().filter(|(fact, other)| {
        *other >= weight * limits::NEARLY && reply.insert((fact.kind, fact.text.as_str()))
    });
    let shown: Vec<&Seen> = shown.map(|(fact, _)| *fact).collect();
    let mut lines: Vec<&Seen> = shown.iter().copied().take(limits::FACTS).collect();
    lines.sort_by_key(|fact| fact.line);
    let lines: Vec<String> =
        lines.into_iter().map(|fact| format!("{}: {}", fact.line, describe(fact))).collect();
    let mut excerpt = lines.join("\n");
    excerpt.truncate(excerpt.floor_char_boundary(Finding::EXCERPT_BYTES));
    let row = &ranked.session.row;
    Some(Finding {
        kind: FindingKind::Session,
        place: Place::Session { provider: row.provider.as_str().to_owned(), session_id: row.id.clone() },
        start: best.line,
        end: best.line,
        excerpt,
        lines: Vec::new(),
        about: None,
        symbol: row.title.clone(),
        score: ranked.score,
        why: why(question, ranked, best, &shown, now),
    })
}

fn describe(fact: &Seen) -> String {
    let text = &fact.text;
    match fact.kind {
        Kind::Prompt { .. } => format!("prompt: {text}"),
        Kind::Answer { .. } => format!("answer: {text}"),
        Kind::Edited => format!("edited {text}"),
        Kind::Read => format!("read {text}"),
        Kind::Ran { exit_code: Some(code), .. } => format!("ran {text} (exit code {code})"),
        Kind::Ran { exit_code: None, .. } => format!("ran {text}"),
        Kind::OpenTasks(_) => format!("open: {text}"),
    }
}

fn why(question: &Question, ranked: &Ranked<'_>, best: &Seen, shown: &[&Seen], now: &Zoned) -> String {
    let day = day(ranked.at, now);
    let name = format!("`{}`", cut_at_word(&best.text.replace('`', "'"), limits::NAME));
    let mut parts = vec![match best.kind {
        Kind::Edited => format!("edited {name} {day}"),
        Kind::Read => format!("read {name} {day}"),
        Kind::Ran { exit_code: Some(code), .. } if code != 0 => format!("{name} exited with {code} {day}"),
        Kind::Ran { .. } => format!("ran {name} {day}"),
        Kind::OpenTasks(1) => format!("one task left open {day}"),
        Kind::OpenTasks(count) => format!("{count} tasks left open {day}"),
        Kind::Answer { last: true, .. } => format!("last answer {day}"),
        Kind::Answer { reason: true, .. } => format!("answer with a reason {day}"),
        Kind::Answer { .. } => format!("answer {day}"),
        Kind::Prompt { .. } => format!("prompt {day}"),
    }];
    let alike = |fact: &&&Seen| std::mem::discriminant(&fact.kind) == std::mem::discriminant(&best.kind);
    let more = shown.iter().filter(alike).count().saturating_sub(1);
    let noun = match best.kind {
        Kind::Edited | Kind::Read => Some(("file", "files")),
        Kind::Ran { .. } => Some(("command", "commands")),
        _ => None,
    };
    if let Some((one, many)) = noun.filter(|_| more > 0) {
        parts.push(format!("{more} more {}", if more == 1 { one } else { many }));
    }
    let prompts = ranked.facts.iter().filter(|(fact, _)| matches!(fact.kind, Kind::Prompt { .. }));
    let prompts = prompts.fold(Hits::default(), |hits, (fact, _)| hits.or(fact.hits));
    let all = ranked.facts.iter().fold(ranked.session.title_hits, |hits, (fact, _)| hits.or(fact.hits));
    for (place, hits) in [
        ("prompt mentions", prompts),
        ("title has", ranked.session.title_hits.without(prompts)),
        ("also has", all.without(prompts).without(ranked.session.title_hits).without(best.hits)),
    ] {
        let words = question.words.iter().enumerate().filter(|(at, _)| *at < WORDS && hits.holds(*at));
        let words: Vec<String> =
            words.take(limits::NAMED).map(|(_, word)| format!("`{}`", word.text)).collect();
        if !words.is_empty() {
            parts.push(format!("{place} {}", words.join(", ")));
        }
    }
    parts.join("; ")
}

fn day(at: i64, now: &Zoned) -> String {
    let Ok(then) = Timestamp::from_millisecond(at) else { return String::new() };
    let then = then.to_zoned(now.time_zone().clone());
    let days = now.date().since(then.date()).map_or(i32::MAX, |span| span.get_days());
    match days {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        2..=6 => then.strftime("on %A").to_string(),
        _ => then.strftime("on %Y-%m-%d").to_string(),
    }
}
