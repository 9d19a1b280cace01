//! Formats the models for a terminal.

use super::progress::cards;
use crate::output::{self, columns, said};
use serde_json::Value;

pub(super) fn print(snapshot: &Value) -> std::io::Result<()> {
    lines(snapshot).into_iter().try_for_each(output::line)
}

/// One line per model, with a star before the one in use, followed by its warnings.
fn lines(snapshot: &Value) -> Vec<String> {
    let row = |card: &Value| {
        let star = if card["inUse"] == true { '*' } else { ' ' };
        let size = format!("{:>8}", size(card["sizeBytes"].as_u64()));
        vec![format!("{star} {}", said(card, "id")), said(card, "name"), size, status(&card["status"])]
    };
    let rows: Vec<_> = cards(snapshot).iter().map(row).collect();
    let mut lines = Vec::new();
    for (card, line) in cards(snapshot).iter().zip(columns(&rows)) {
        lines.push(line);
        let warnings = card["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
        lines.extend(warnings.map(|warning| format!("    {}", output::printable(warning))));
    }
    lines
}

/// Formats a size in powers of ten: `12.1 GB`.
pub(super) fn size(bytes: Option<u64>) -> String {
    match bytes {
        None => String::new(),
        Some(bytes @ 1_000_000_000..) => format!("{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10),
        Some(bytes) => format!("{} MB", (bytes + 500_000) / 1_000_000),
    }
}

/// Describes a status: `paused at 61 %`.
pub(super) fn status(status: &Value) -> String {
    let percent = |share: f64| (share * 100.0) as u64;
    let share = || status["progress"].as_f64().unwrap_or_default();
    let done = || {
        let number = |key: &str| status[key].as_f64().unwrap_or_default();
        if number("total") > 0.0 { percent(number("done") / number("total")) } else { 0 }
    };
    match status["state"].as_str().unwrap_or_default() {
        "not_downloaded" => "not downloaded".to_owned(),
        "downloading" => format!("downloading {} %", done()),
        "paused" => format!("paused at {} %", done()),
        "verifying" => format!("verifying {} %", percent(share())),
        "not_loaded" => "ready to load".to_owned(),
        "loading" => format!("loading {} %", percent(share())),
        "ready" => "in memory".to_owned(),
        "generating" => "answering".to_owned(),
        "error" => output::printable(status["reason"].as_str().unwrap_or("error")),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_model_has_a_line() {
        let card = |id: &str, status: Value| json!({"id": id, "name": "A\u{1b}[2J", "sizeBytes": 98_362_432, "status": status});
        let mut first = card("gpt-oss-20b", json!({"state": "paused", "done": 1, "total": 4}));
        first["inUse"] = json!(true);
        first["sizeBytes"] = json!(12_109_566_624_u64);
        first["warnings"] = json!(["It may run slowly."]);
        let snapshot = json!({"models": [
            first,
            card("b", json!({"state": "downloading", "done": 0, "total": 0})),
            card("c", json!({"state": "loading", "progress": 0.43})),
            card("d", json!({"state": "error", "reason": "it is damaged"})),
        ]});
        insta::assert_snapshot!(lines(&snapshot).join("\n"), @"
    * gpt-oss-20b  A\\u{1b}[2J   12.1 GB  paused at 25 %
        It may run slowly.
      b            A\\u{1b}[2J     98 MB  downloading 0 %
      c            A\\u{1b}[2J     98 MB  loading 43 %
      d            A\\u{1b}[2J     98 MB  it is damaged
    ");
    }
}
