//! Progress of a download or a verification in the terminal, until its end or Ctrl-C.

use super::table::card;
use crate::endpoint::Endpoint;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use openagents_core::model::{ModelCard, ModelStatus};
use openagents_wire::methods;
use std::time::Duration;

/// Polling interval.
const POLL: Duration = Duration::from_millis(250);

pub(super) enum End {
    /// Holds the card of the model.
    Done(Box<ModelCard>),
    Stopped,
}

/// Shows the progress of a model's file. `download` is false for a verification.
pub(super) fn follow(endpoint: &mut Endpoint, id: &str, download: bool) -> anyhow::Result<End> {
    let mut signals = endpoint.signals()?;
    // Nothing is drawn if stderr is not a terminal.
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let mut shown = None;
    let end = loop {
        let model = card(&endpoint.list::<methods::ModelsList>()?, id)?;
        match model.status {
            ModelStatus::Downloading { done, total, bytes_per_second } => {
                if shown != Some("downloading") {
                    bar.set_style(style("{bytes} of {total_bytes}  {bar:30}  {msg}"));
                    shown = Some("downloading");
                }
                bar.set_length(total);
                bar.set_position(done);
                bar.set_message(pace(total.saturating_sub(done), bytes_per_second));
            }
            ModelStatus::Verifying { progress } => {
                if shown != Some("verifying") {
                    bar.set_style(style("verifying  {bar:30}  {percent} %"));
                    bar.set_length(1_000);
                    shown = Some("verifying");
                }
                bar.set_position((progress * 1_000.0) as u64);
            }
            ModelStatus::Error { reason } => {
                bar.finish_and_clear();
                anyhow::bail!(reason);
            }
            ModelStatus::Paused { .. } | ModelStatus::NotDownloaded if download => {
                bar.finish_and_clear();
                anyhow::bail!("the download was stopped by another client");
            }
            _ => break End::Done(Box::new(model)),
        }
        if endpoint.wait(&mut signals, POLL) {
            break End::Stopped;
        }
    };
    bar.finish_and_clear();
    Ok(end)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━╌")
}

/// Returns the rate and the remaining time: `12.3 MB/s, 4 min left`.
fn pace(left: u64, per_second: u64) -> String {
    let Some(seconds) = left.checked_div(per_second) else { return String::new() };
    let tenths = per_second / 100_000;
    let left = match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    };
    format!("{}.{} MB/s, {left} left", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::pace;

    #[test]
    fn pace_shows_rate_and_time_left() {
        let rows = [
            (100, 0, ""),
            (30_000_000, 1_500_000, "1.5 MB/s, 20 s left"),
            (12_000_000_000, 10_000_000, "10.0 MB/s, 20 min left"),
            (12_000_000_000, 1_000_000, "1.0 MB/s, 3 h 20 min left"),
        ];
        for (left, rate, expected) in rows {
            assert_eq!(pace(left, rate), expected);
        }
    }
}
