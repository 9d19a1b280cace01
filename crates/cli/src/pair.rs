//! `openagents pair`: shows a pairing code and asks whether to allow the device.

use crate::{
    args,
    devices::{DevicesClient, Row, allowance, allowed, left, nothing_runs, who},
    output::{self, FAINT, STRONG},
    signals::{self, Interrupts},
};
use anstyle::{AnsiColor, Color, Style};
use anyhow::Context;
use indicatif::ProgressBar;
use openagents_wire::{Device, DeviceCommand, DeviceRequest, DevicesSnapshot, Pairing};
use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    io::{self, IsTerminal},
    process::ExitCode,
    time::Duration,
};
use tokio::io::{AsyncBufReadExt, BufReader};

pub(crate) fn run(arguments: &args::Pair) -> anyhow::Result<ExitCode> {
    signals::run(pair(arguments))
}

async fn pair(arguments: &args::Pair) -> anyhow::Result<ExitCode> {
    let mut signals = Interrupts::listen()?;
    let mut client = DevicesClient::open().await?.ok_or_else(nothing_runs)?;
    let before = client.watch().await?;
    let begun = client.command(DeviceCommand::Pair).await?;
    let problem = begun.network.problem.as_deref().map(output::printable);
    let code = begun.pairing.clone();
    let code = code.with_context(|| {
        problem
            .clone()
            .unwrap_or_else(|| "OpenAgents returned no pairing code; run `openagents pair` again".into())
    })?;
    let asks = !arguments.json && io::stdin().is_terminal() && io::stderr().is_terminal();
    if arguments.json {
        output::json_line(&json!({"pairing": without_drawing(&code)?}))?;
    } else {
        print(&code)?;
        problem.inspect(|problem| output::warn(problem));
    }
    let mut pairing = Progress::new(arguments, asks, before, code);
    let mut typed = BufReader::new(tokio::io::stdin()).lines();
    let mut clock = tokio::time::interval(Duration::from_secs(1));
    let mut news = begun;
    loop {
        if let Some(code) = pairing.update(&news)? {
            return Ok(code);
        }
        news = tokio::select! {
            changed = client.changed() => changed?,
            line = typed.next_line(), if pairing.asked.is_some() => {
                // End of input counts as "no".
                let yes = line?.is_some_and(|line| output::is_yes(&line));
                pairing.answer(&mut client, yes).await?
            }
            _ = clock.tick() => match pairing.is_due() {
                true => client.snapshot().await?,
                false => continue,
            },
            () = signals.next() => {
                pairing.quiet();
                client.command(DeviceCommand::StopPairing).await?;
                return Ok(ExitCode::from(130));
            }
        };
    }
}

/// Returns the pairing data for programs, which draw the QR code themselves.
fn without_drawing(code: &Pairing) -> anyhow::Result<Value> {
    let mut data = serde_json::to_value(code)?;
    data.as_object_mut().map(|members| members.remove("qr"));
    Ok(data)
}

fn print(code: &Pairing) -> anyhow::Result<()> {
    for line in lines(&code.url).unwrap_or_default() {
        output::line(line)?;
    }
    output::line("\nScan it, or open an address and type the code. It can be used once.\n")?;
    output::line(format_args!("Code         {STRONG}{}{STRONG:#}", output::printable(&code.code)))?;
    let headings = std::iter::once("Address    ").chain(std::iter::repeat("           "));
    for (heading, address) in headings.zip(&code.addresses) {
        output::line(format_args!("{heading}  {}", output::printable(address)))?;
    }
    if let Some(fingerprint) = &code.fingerprint {
        output::line(format_args!("Certificate  {FAINT}{}{FAINT:#}", output::printable(fingerprint)))?;
    }
    Ok(output::line("")?)
}

struct Progress<'a> {
    arguments: &'a args::Pair,
    asks: bool,
    /// The devices before the pairing started; any other device is new.
    before: DevicesSnapshot,
    code: Pairing,
    /// The request shown as a question.
    asked: Option<DeviceRequest>,
    announced: HashSet<String>,
    bar: Option<ProgressBar>,
}

impl<'a> Progress<'a> {
    fn new(arguments: &'a args::Pair, asks: bool, before: DevicesSnapshot, code: Pairing) -> Self {
        Self { arguments, asks, before, code, asked: None, announced: HashSet::new(), bar: None }
    }

    /// Handles a new snapshot; returns the exit code when pairing is over.
    fn update(&mut self, now: &DevicesSnapshot) -> anyhow::Result<Option<ExitCode>> {
        let known = &self.before.devices;
        let is_new = |row: &&Device| known.iter().all(|old| old.id != row.id);
        if let Some(device) = now.devices.iter().find(is_new) {
            self.quiet();
            match self.arguments.json {
                true => output::json_line(&json!({"device": device}))?,
                false => output::line(allowed(&self.before, now, device))?,
            }
            return Ok(Some(ExitCode::SUCCESS));
        }
        let requests: Vec<&DeviceRequest> =
            now.requests.iter().filter(|request| request.kind == "pair").collect();
        if let Some(gone) = self.asked.take_if(|asked| requests.iter().all(|row| row.id != asked.id)) {
            let name = gone.shown();
            output::line(format_args!("\n{name} is no longer pending: answered elsewhere, or expired"))?;
        }
        for request in &requests {
            self.announce(request)?;
        }
        if now.pairing.is_none() && requests.is_empty() {
            self.quiet();
            match self.arguments.json {
                true => output::json_line(&json!({"expired": true}))?,
                false => output::warn("the code has expired; run `openagents pair` for a new one"),
            }
            return Ok(Some(ExitCode::FAILURE));
        }
        self.show_time();
        Ok(None)
    }

    /// Announces a request once; at a terminal it becomes the question, one at a time.
    fn announce(&mut self, request: &DeviceRequest) -> anyhow::Result<()> {
        let id = &request.id;
        if self.announced.contains(id) || (self.asks && self.asked.is_some()) {
            return Ok(());
        }
        self.announced.insert(id.clone());
        if self.arguments.json {
            return output::json_line(&json!({"request": request}));
        }
        self.quiet();
        output::line(who(request))?;
        if !self.asks {
            let scope = self.arguments.scope.to_wire().as_str();
            return Ok(output::line(format_args!(
                "Allow it: `openagents devices allow {id} --scope {scope}`"
            ))?);
        }
        output::put_question(&format!(
            "Does its screen show the same code? Allow it with the scope {}?",
            self.arguments.scope.to_wire().as_str()
        ))?;
        self.asked = Some(request.clone());
        Ok(())
    }

    /// Sends the user's answer, and returns the snapshot afterwards.
    async fn answer(&mut self, client: &mut DevicesClient, yes: bool) -> anyhow::Result<DevicesSnapshot> {
        let Some(request) = self.asked.take() else { return client.snapshot().await };
        if yes {
            let scope = Some(self.arguments.scope);
            return client.command(allowance(&request, scope, self.arguments.name.as_deref())).await;
        }
        let now = client.command(DeviceCommand::Decline { request_id: request.id.clone() }).await?;
        output::line(format_args!("{} declined", request.shown()))?;
        Ok(now)
    }

    /// Returns whether the code has expired; the bridge may not send an event for it.
    fn is_due(&mut self) -> bool {
        self.show_time();
        output::now_ms() > self.code.expires_at
    }

    /// Shows the remaining time on a terminal while no question is open.
    fn show_time(&mut self) {
        if !self.asks || self.asked.is_some() {
            return;
        }
        let bar = self.bar.get_or_insert_with(output::spinner);
        let left = left(self.code.expires_at, output::now_ms());
        bar.set_message(format!("Waiting for a device… · {left} left · Ctrl-C cancels"));
    }

    fn quiet(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Light on dark, in any colour scheme.
const INK: Style = Style::new()
    .fg_color(Some(Color::Ansi(AnsiColor::BrightWhite)))
    .bg_color(Some(Color::Ansi(AnsiColor::Black)));

/// Returns the lines of a QR code, two rows per line; `None` if the text is too long.
fn lines(text: &str) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    // Light modules are drawn: without colours the code stays readable on a dark terminal.
    let drawn = code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    Some(drawn.lines().map(|line| format!("{INK}{line}{INK:#}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qr_code_fits_small_window() {
        let lines = lines("https://192.168.178.123:9443/#pair=K7QX-2M9P").unwrap();
        let width = anstream::adapter::strip_str(&lines[0]).to_string().chars().count();
        assert!(lines.len() <= 22 && width <= 40, "{} x {width}", lines.len());
        assert!(lines.iter().all(|line| line.starts_with("\u{1b}[") && line.ends_with("\u{1b}[0m")));
    }

    /// Reads the drawing back and compares every module.
    #[test]
    fn qr_code_draws_every_module() {
        let text = "https://192.0.2.2:9443/#pair=K7QX-2M9P";
        let drawn: Vec<Vec<char>> = lines(text)
            .unwrap()
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string().chars().collect())
            .collect();
        let code = QrCode::with_error_correction_level(text, EcLevel::L).unwrap();
        let (quiet, width) = (4, code.width());
        for y in 0..width {
            for x in 0..width {
                let c = drawn[(y + quiet) / 2][x + quiet];
                let is_light = match (y + quiet) % 2 {
                    0 => matches!(c, '█' | '▀'),
                    _ => matches!(c, '█' | '▄'),
                };
                assert_eq!(is_light, code[(x, y)] == qrcode::Color::Light, "{x}, {y}");
            }
        }
    }

    #[test]
    fn qr_code_rejects_long_text() {
        assert_eq!(lines(&"x".repeat(10_000)), None);
    }
}
