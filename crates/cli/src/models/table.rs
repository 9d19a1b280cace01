//! Formats the models for a terminal.

use crate::output::{self, columns, printable};
use anyhow::Context;
use openagents_core::model::{ModelCard, ModelStatus, ModelsSnapshot};

pub(super) fn print(snapshot: &ModelsSnapshot) -> std::io::Result<()> {
    lines(&snapshot.models).into_iter().try_for_each(output::line)
}

/// One line per model, with a star before the one in use, followed by its warnings.
fn lines(models: &[ModelCard]) -> Vec<String> {
    let row = |card: &ModelCard| {
        let star = if card.in_use { '*' } else { ' ' };
        let size = format!("{:>8}", size(card.size_bytes));
        vec![format!("{star} {}", printable(&card.id)), printable(&card.name), size, status(&card.status)]
    };
    let rows: Vec<_> = models.iter().map(row).collect();
    let mut lines = Vec::new();
    for (card, line) in models.iter().zip(columns(&rows)) {
        lines.push(line);
        lines.extend(card.warnings.iter().map(|warning| format!("    {}", printable(warning))));
    }
    lines
}

pub(super) fn card(snapshot: &ModelsSnapshot, id: &str) -> anyhow::Result<ModelCard> {
    let found = snapshot.models.iter().find(|card| card.id == id).cloned();
    found.with_context(|| format!("no such model: {id} (run `openagents models list`)"))
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
pub(super) fn status(status: &ModelStatus) -> String {
    let percent = |share: f32| (share * 100.0) as u64;
    let done = |done: u64, total: u64| (done * 100).checked_div(total).unwrap_or(0);
    match status {
        ModelStatus::NotDownloaded => "not downloaded".to_owned(),
        ModelStatus::Downloading { done: bytes, total, .. } => {
            format!("downloading {} %", done(*bytes, *total))
        }
        ModelStatus::Paused { done: bytes, total } => format!("paused at {} %", done(*bytes, *total)),
        ModelStatus::Verifying { progress } => format!("verifying {} %", percent(*progress)),
        ModelStatus::NotLoaded => "ready to load".to_owned(),
        ModelStatus::Loading { progress } => format!("loading {} %", percent(*progress)),
        ModelStatus::Ready => "in memory".to_owned(),
        ModelStatus::Generating => "answering".to_owned(),
        ModelStatus::Error { reason } => printable(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_list_has_line_per_model() {
        let card = |id: &str, status: ModelStatus| ModelCard {
            id: id.to_owned(),
            name: "A\u{1b}[2J".to_owned(),
            path: None,
            size_bytes: Some(98_362_432),
            status,
            in_use: false,
            warnings: Vec::new(),
            memory_bytes: None,
            context_tokens: None,
            last_used: None,
            usage: None,
            verified: None,
            offer: None,
        };
        let first = ModelCard {
            in_use: true,
            size_bytes: Some(12_109_566_624),
            warnings: vec!["It may run slowly.".to_owned()],
            ..card("gpt-oss-20b", ModelStatus::Paused { done: 1, total: 4 })
        };
        let models = [
            first,
            card("b", ModelStatus::Downloading { done: 0, total: 0, bytes_per_second: 0 }),
            card("c", ModelStatus::Loading { progress: 0.43 }),
            card("d", ModelStatus::Error { reason: "it is damaged".to_owned() }),
        ];
        insta::assert_snapshot!(lines(&models).join("\n"), @"
    * gpt-oss-20b  A\\u{1b}[2J   12.1 GB  paused at 25 %
        It may run slowly.
      b            A\\u{1b}[2J     98 MB  downloading 0 %
      c            A\\u{1b}[2J     98 MB  loading 43 %
      d            A\\u{1b}[2J     98 MB  it is damaged
    ");
    }
}
