//! Resolves the time in a question relative to now.

use super::time_names::{
    AGO, ARTICLES, FRENCH, NUMBERS, PHRASES, Period, SINCE_BEFORE, SINCE_BEHIND, UNITS, Unit, WEEKDAYS,
    WITHIN,
};
use jiff::{Span, ToSpan, Zoned, civil::Date};
use openagents_core::text::is_listed;
use regex::Regex;
use std::{ops::Range, sync::LazyLock};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    /// Milliseconds since the epoch.
    pub(super) from: i64,
    /// Milliseconds since the epoch, exclusive.
    pub(super) to: i64,
    /// Byte range in the question.
    pub(super) named: Range<usize>,
}

impl Window {
    pub(super) fn holds(&self, at: i64) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// Finds the time in a question; `text` is lower case.
pub(super) fn find(text: &str, now: &Zoned) -> Option<Window> {
    let mut window = dated(text, now)
        .or_else(|| counted(text, now))
        .or_else(|| phrase(text, now))
        .or_else(|| weekday(text, now))?;
    if let Some(range) = since(text, &window.named) {
        window.to = millis(now) + 1;
        window.named = range;
    }
    Some(window)
}

fn phrase(text: &str, now: &Zoned) -> Option<Window> {
    let french = || text.split(|c: char| c.is_whitespace() || c == '?').any(|word| is_listed(word, FRENCH));
    let (period, named) = longest(text, PHRASES.iter().copied(), |named| named != "hier" || french())?;
    let today = now.date();
    let (from, to) = match period {
        Period::Day(back) => hours(today, back, 0, 24, now)?,
        Period::Part(back, from, to) => hours(today, back, from, to, now)?,
        Period::Week(back) => {
            let monday = today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()?;
            days(monday.checked_sub(back.weeks()).ok()?, 7.days(), now)?
        }
        Period::Month(back) => days(today.first_of_month().checked_sub(back.months()).ok()?, 1.month(), now)?,
        Period::Year(back) => days(today.first_of_year().checked_sub(back.years()).ok()?, 1.year(), now)?,
    };
    Some(Window { from, to, named })
}

/// Finds a day of the week: the last one before today.
fn weekday(text: &str, now: &Zoned) -> Option<Window> {
    let (day, named) = longest(text, (0..).zip(WEEKDAYS), |_| true)?;
    let today = i64::from(now.weekday().to_monday_zero_offset());
    let back = match (today - day).rem_euclid(7) {
        0 => 7,
        back => back,
    };
    let (from, to) = hours(now.date(), back, 0, 24, now)?;
    Some(Window { from, to, named })
}

/// Finds the longest phrase of a table in a text.
fn longest<'a, T: Copy>(
    text: &str,
    table: impl Iterator<Item = (T, &'a str)>,
    counts: impl Fn(&str) -> bool,
) -> Option<(T, Range<usize>)> {
    let rows = table.flat_map(|(meaning, phrases)| phrases.split('|').map(move |phrase| (meaning, phrase)));
    let found = rows.filter_map(|(meaning, phrase)| Some((meaning, whole(text, phrase)?)));
    found.filter(|(_, named)| counts(&text[named.clone()])).max_by_key(|(_, named)| named.len())
}

/// Finds a date in digits: `2026-11-03`, `11月3日`.
fn dated(text: &str, now: &Zoned) -> Option<Window> {
    static ISO: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b\d{4}-\d{2}-\d{2}\b").ok());
    static CJK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(\d{1,2})月(\d{1,2})[日号]").ok());
    let (date, named) = if let Some(found) = ISO.as_ref().and_then(|iso| iso.find(text)) {
        (found.as_str().parse().ok()?, found.range())
    } else {
        let found = CJK.as_ref()?.captures(text)?;
        let (_, [month, day]) = found.extract();
        let of_year = |year| Date::new(year, month.parse().ok()?, day.parse().ok()?).ok();
        let this_year = of_year(now.year())?;
        let past = if this_year > now.date() { of_year(now.year() - 1)? } else { this_year };
        (past, found.get(0)?.range())
    };
    let (from, to) = days(date, 1.day(), now)?;
    Some(Window { from, to, named })
}

/// Finds a counted time: `two days ago`, `in the last 3 hours`.
fn counted(text: &str, now: &Zoned) -> Option<Window> {
    static PATTERNS: LazyLock<Vec<(Regex, bool)>> = LazyLock::new(|| {
        let numbers: Vec<&str> = NUMBERS.iter().map(|(_, names)| *names).collect();
        let units: Vec<&str> = UNITS.iter().map(|(_, names)| *names).collect();
        let number = format!(r"(?<n>\d{{1,3}}|{})", numbers.join("|"));
        let unit = format!("(?<u>{})", units.join("|"));
        let rows = AGO.iter().map(|row| (row, false));
        let rows = rows.chain(WITHIN.iter().map(|row| (row, true)));
        let patterns = rows.map(|(row, within)| (row.replace('N', &number).replace('U', &unit), within));
        patterns.filter_map(|(pattern, within)| Some((Regex::new(&pattern).ok()?, within))).collect()
    });
    PATTERNS.iter().find_map(|(pattern, within)| {
        let found = pattern.captures(text)?;
        let count = found.name("n").map_or(Some(1), |number| count(number.as_str()))?;
        let unit = found.name("u")?.as_str();
        let unit = UNITS.iter().find(|(_, names)| is_listed(unit, names)).map(|(unit, _)| *unit)?;
        // A single week is a calendar week, which has its own phrase.
        if found.name("n").is_none() && unit != Unit::Hour {
            return None;
        }
        let named = found.get(0)?.range();
        let (from, to) = if *within { within_last(count, unit, now)? } else { ago(count, unit, now)? };
        Some(Window { from, to, named })
    })
}

fn count(text: &str) -> Option<i64> {
    let named = || NUMBERS.iter().find(|(_, names)| is_listed(text, names)).map(|(number, _)| *number);
    text.parse().ok().or_else(named)
}

fn before(now: &Zoned, count: i64, unit: Unit) -> Option<Zoned> {
    let span = match unit {
        Unit::Hour => count.hours(),
        Unit::Day => count.days(),
        Unit::Week => count.weeks(),
        Unit::Month => count.months(),
    };
    now.checked_sub(span).ok()
}

fn within_last(count: i64, unit: Unit, now: &Zoned) -> Option<(i64, i64)> {
    let then = before(now, count, unit)?;
    let from = if unit == Unit::Hour { then } else { then.start_of_day().ok()? };
    Some((millis(&from), millis(now) + 1))
}

/// Widens hours by one hour on each side, weeks by three days and months by a week, because people round.
fn ago(count: i64, unit: Unit, now: &Zoned) -> Option<(i64, i64)> {
    let then = before(now, count, unit)?;
    let day = then.date();
    match unit {
        Unit::Hour => {
            let hour = 1.hour();
            Some((millis(&then.checked_sub(hour).ok()?), millis(&then.checked_add(hour).ok()?)))
        }
        Unit::Day => days(day, 1.day(), now),
        Unit::Week => days(day.checked_sub(3.days()).ok()?, 7.days(), now),
        Unit::Month => days(day.checked_sub(7.days()).ok()?, 15.days(), now),
    }
}

fn hours(today: Date, back: i64, from: i64, to: i64, now: &Zoned) -> Option<(i64, i64)> {
    let day = today.checked_sub(back.days()).ok()?;
    let at = |hour: i64| {
        let date = day.checked_add((hour / 24).days()).ok()?;
        let time = date.at(i8::try_from(hour % 24).ok()?, 0, 0, 0);
        Some(millis(&time.to_zoned(now.time_zone().clone()).ok()?))
    };
    Some((at(from)?, at(to)?))
}

fn days(from: Date, length: Span, now: &Zoned) -> Option<(i64, i64)> {
    let start = |date: Date| Some(millis(&date.to_zoned(now.time_zone().clone()).ok()?));
    Some((start(from)?, start(from.checked_add(length).ok()?)?))
}

/// Returns the range of a time including a preceding word for "since".
fn since(text: &str, named: &Range<usize>) -> Option<Range<usize>> {
    let behind = &text[named.end..];
    if let Some(word) = SINCE_BEHIND.split('|').find(|word| behind.starts_with(word)) {
        return Some(named.start..named.end + word.len());
    }
    let mut before = text[..named.start].trim_end();
    while let Some(article) = ARTICLES.split('|').find(|article| ends_with_word(before, article)) {
        before = before[..before.len() - article.len()].trim_end();
    }
    let word = SINCE_BEFORE.split('|').find(|word| ends_with_word(before, word))?;
    Some(before.len() - word.len()..named.end)
}

fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|rest| !word.is_ascii() || !rest.ends_with(char::is_alphanumeric))
}

/// Finds a phrase at word boundaries; scripts without spaces have none. Accents may be missing.
pub(super) fn whole(text: &str, phrase: &str) -> Option<Range<usize>> {
    exact(text, phrase).or_else(|| exact(text, &plain(phrase)?))
}

/// Returns a phrase without accents; `None` if it has none.
fn plain(phrase: &str) -> Option<String> {
    let fold = |c| match c {
        'á' | 'à' | 'â' => 'a',
        'é' | 'è' | 'ê' => 'e',
        'í' | 'î' => 'i',
        'ó' | 'ô' => 'o',
        'ú' | 'ù' | 'û' => 'u',
        'ñ' => 'n',
        c => c,
    };
    let plain: String = phrase.chars().map(fold).collect();
    (plain != phrase).then_some(plain)
}

fn exact(text: &str, phrase: &str) -> Option<Range<usize>> {
    let spaced = phrase.chars().next().is_some_and(|first| !openagents_core::terms::is_unspaced(first));
    text.match_indices(phrase).map(|(at, _)| at..at + phrase.len()).find(|range| {
        !spaced || !text[..range.start].ends_with(adjoins) && !text[range.end..].starts_with(adjoins)
    })
}

fn adjoins(c: char) -> bool {
    c.is_alphanumeric() && !openagents_core::terms::is_unspaced(c)
}

fn millis(time: &Zoned) -> i64 {
    time.timestamp().as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Wednesday.
    const NOW: &str = "2026-11-18T15:00:00+01:00[Europe/Berlin]";

    fn window(text: &str) -> Option<String> {
        let now: Zoned = NOW.parse().unwrap();
        let shown = |millis| {
            let time = jiff::Timestamp::from_millisecond(millis).unwrap().to_zoned(now.time_zone().clone());
            time.strftime("%m-%d %H").to_string()
        };
        let window = find(text, &now)?;
        Some(format!("{} → {} {:?}", shown(window.from), shown(window.to), &text[window.named]))
    }

    #[test]
    fn times_are_parsed_in_each_language() {
        for (text, expected) in [
            ("what changed today?", "11-18 00 → 11-19 00 \"today\""),
            ("the day before yesterday", "11-16 00 → 11-17 00 \"the day before yesterday\""),
            ("what did we do yesterday morning?", "11-17 00 → 11-17 12 \"yesterday morning\""),
            ("last night", "11-17 18 → 11-18 06 \"last night\""),
            ("last week?", "11-09 00 → 11-16 00 \"last week\""),
            ("last month?", "10-01 00 → 11-01 00 \"last month\""),
            ("on monday?", "11-16 00 → 11-17 00 \"monday\""),
            ("on wednesday?", "11-11 00 → 11-12 00 \"wednesday\""),
            ("since friday?", "11-13 00 → 11-18 15 \"since friday\""),
            ("since last week?", "11-09 00 → 11-18 15 \"since last week\""),
            ("two days ago", "11-16 00 → 11-17 00 \"two days ago\""),
            ("3 hours ago", "11-18 11 → 11-18 13 \"3 hours ago\""),
            ("in the last 3 days", "11-15 00 → 11-18 15 \"last 3 days\""),
            ("in the last hour", "11-18 14 → 11-18 15 \"last hour\""),
            ("on 2026-11-03", "11-03 00 → 11-04 00 \"2026-11-03\""),
            ("was war vorgestern?", "11-16 00 → 11-17 00 \"vorgestern\""),
            ("was haben wir heute morgen gemacht?", "11-18 00 → 11-18 12 \"heute morgen\""),
            ("seit letztem montag?", "11-16 00 → 11-18 15 \"seit letztem montag\""),
            ("vor zwei wochen", "11-01 00 → 11-08 00 \"vor zwei wochen\""),
            ("la semana pasada", "11-09 00 → 11-16 00 \"semana pasada\""),
            ("desde el lunes", "11-16 00 → 11-18 15 \"desde el lunes\""),
            ("hace 2 dias", "11-16 00 → 11-17 00 \"hace 2 dias\""),
            ("qu'est-ce que nous avons fait hier ?", "11-17 00 → 11-18 00 \"hier\""),
            ("il y a deux jours", "11-16 00 → 11-17 00 \"il y a deux jours\""),
            ("一昨日は?", "11-16 00 → 11-17 00 \"一昨日\""),
            ("月曜日から?", "11-16 00 → 11-18 15 \"月曜日から\""),
            ("2日前に", "11-16 00 → 11-17 00 \"2日前\""),
            ("11月3日に", "11-03 00 → 11-04 00 \"11月3日\""),
            ("过去三天", "11-15 00 → 11-18 15 \"过去三天\""),
            ("上个星期", "11-09 00 → 11-16 00 \"上个星期\""),
        ] {
            assert_eq!(window(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn lookalikes_are_not_times() {
        for text in ["was haben wir hier geändert?", "the daytoday client", "the last test", "mondays.rs", ""]
        {
            assert_eq!(window(text), None, "{text}");
        }
    }
}
