//! `openagents pair`: shows a pairing code and asks whether to allow the device.

use crate::{
    args,
    devices::{DevicesClient, allowance, allowed, left, nothing_runs, who},
    output::{self, FAINT, STRONG, rows},
    signals::{self, Interrupts},
};
use anstyle::{AnsiColor, Color, Style};
use anyhow::Context;
use indicatif::ProgressBar;
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
    let begun = client.call("pair", json!({})).await?;
    let problem = begun["network"]["problem"].as_str().map(output::printable);
    let code =
        Code::of(&begun).with_context(|| problem.clone().unwrap_or_else(|| "there is no code".into()))?;
    let asks = !arguments.json && io::stdin().is_terminal() && io::stderr().is_terminal();
    if arguments.json {
        output::json_line(&json!({"pairing": code.told()}))?;
    } else {
        code.print()?;
        problem.inspect(|problem| output::warn(problem));
    }
    let mut pairing = Pairing::new(arguments, asks, before, code);
    let mut typed = BufReader::new(tokio::io::stdin()).lines();
    let mut clock = tokio::time::interval(Duration::from_secs(1));
    let mut news = begun;
    loop {
        if let Some(code) = pairing.hear(&news)? {
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
                client.call("stop_pairing", json!({})).await?;
                return Ok(ExitCode::from(130));
            }
        };
    }
}

/// The pairing data for the other device.
struct Code(Value);

impl Code {
    fn of(snapshot: &Value) -> Option<Self> {
        snapshot["pairing"].is_object().then(|| Self(snapshot["pairing"].clone()))
    }

    /// Returns the data for programs, which draw the QR code themselves.
    fn told(&self) -> Value {
        let mut told = self.0.clone();
        told.as_object_mut().map(|members| members.remove("qr"));
        told
    }

    fn print(&self) -> anyhow::Result<()> {
        let said = |key: &str| output::said(&self.0, key);
        for line in lines(&said("url")).unwrap_or_default() {
            output::line(line)?;
        }
        output::line(format_args!(
            "\nScan it, or open an address and type the code. It can be used once.\n"
        ))?;
        output::line(format_args!("Code         {STRONG}{}{STRONG:#}", said("code")))?;
        let addresses = output::rows(&self.0, "addresses").iter().filter_map(Value::as_str);
        let headings = std::iter::once("Address    ").chain(std::iter::repeat("           "));
        for (heading, address) in headings.zip(addresses) {
            output::line(format_args!("{heading}  {}", output::printable(address)))?;
        }
        if !said("fingerprint").is_empty() {
            output::line(format_args!("Certificate  {FAINT}{}{FAINT:#}", said("fingerprint")))?;
        }
        Ok(output::line("")?)
    }

    fn expires_at(&self) -> i64 {
        self.0["expiresAt"].as_i64().unwrap_or_default()
    }
}

/// State of the pairing.
struct Pairing<'a> {
    arguments: &'a args::Pair,
    asks: bool,
    /// The devices before the pairing started; any other device is new.
    before: Value,
    code: Code,
    /// The request shown as a question.
    asked: Option<Value>,
    told: HashSet<String>,
    bar: Option<ProgressBar>,
}

impl<'a> Pairing<'a> {
    fn new(arguments: &'a args::Pair, asks: bool, before: Value, code: Code) -> Self {
        Self { arguments, asks, before, code, asked: None, told: HashSet::new(), bar: None }
    }

    /// Handles a new snapshot; returns the exit code when pairing is over.
    fn hear(&mut self, now: &Value) -> anyhow::Result<Option<ExitCode>> {
        let known = rows(&self.before, "devices");
        let is_new = |row: &&Value| known.iter().all(|old| old["id"] != row["id"]);
        if let Some(device) = rows(now, "devices").iter().find(is_new) {
            self.quiet();
            match self.arguments.json {
                true => output::json_line(&json!({"device": device}))?,
                false => output::line(allowed(&self.before, now, device))?,
            }
            return Ok(Some(ExitCode::SUCCESS));
        }
        let requests: Vec<&Value> =
            rows(now, "requests").iter().filter(|request| request["kind"] == "pair").collect();
        if let Some(gone) = self.asked.take_if(|asked| requests.iter().all(|row| row["id"] != asked["id"])) {
            let name = name(&gone);
            output::line(format_args!("\n{name} is no longer pending: answered elsewhere, or expired"))?;
        }
        for request in &requests {
            self.tell(request)?;
        }
        if now["pairing"].is_null() && requests.is_empty() {
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
    fn tell(&mut self, request: &Value) -> anyhow::Result<()> {
        let id = request["id"].as_str().unwrap_or_default();
        if self.told.contains(id) || (self.asks && self.asked.is_some()) {
            return Ok(());
        }
        self.told.insert(id.to_owned());
        if self.arguments.json {
            return output::json_line(&json!({"request": request}));
        }
        self.quiet();
        output::line(who(request))?;
        if !self.asks {
            let scope = self.arguments.scope.word();
            return Ok(output::line(format_args!(
                "Allow it: `openagents devices allow {id} --scope {scope}`"
            ))?);
        }
        output::put_question(&format!(
            "Does its screen show the same code? Allow it with the scope {}?",
            self.arguments.scope.word()
        ))?;
        self.asked = Some(request.clone());
        Ok(())
    }

    /// Sends the user's answer, and returns the snapshot afterwards.
    async fn answer(&mut self, client: &mut DevicesClient, yes: bool) -> anyhow::Result<Value> {
        let Some(request) = self.asked.take() else { return client.snapshot().await };
        if yes {
            let scope = Some(self.arguments.scope);
            return client.call("allow", allowance(&request, scope, self.arguments.name.as_deref())).await;
        }
        let now = client.call("decline", json!({"requestId": request["id"]})).await?;
        output::line(format_args!("{} declined", name(&request)))?;
        Ok(now)
    }

    /// Returns whether the code has expired; the bridge may not send an event for it.
    fn is_due(&mut self) -> bool {
        self.show_time();
        output::now_ms() > self.code.expires_at()
    }

    /// Shows the remaining time on a terminal while no question is open.
    fn show_time(&mut self) {
        if !self.asks || self.asked.is_some() {
            return;
        }
        let bar = self.bar.get_or_insert_with(output::spinner);
        let left = left(self.code.expires_at(), output::now_ms());
        bar.set_message(format!("Waiting for a device… · {left} left · Ctrl-C cancels"));
    }

    fn quiet(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn name(request: &Value) -> String {
    output::printable(request["name"].as_str().unwrap_or("It"))
}

// A QR code in a terminal.

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
    fn an_address_fits_into_a_small_window() {
        let lines = lines("https://192.168.178.123:9443/#pair=K7QX-2M9P").unwrap();
        let width = anstream::adapter::strip_str(&lines[0]).to_string().chars().count();
        assert!(lines.len() <= 22 && width <= 40, "{} x {width}", lines.len());
        assert!(lines.iter().all(|line| line.starts_with("\u{1b}[") && line.ends_with("\u{1b}[0m")));
    }

    /// Reads the drawing back and compares every module.
    #[test]
    fn every_module_is_drawn() {
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
                let sign = drawn[(y + quiet) / 2][x + quiet];
                let is_light = match (y + quiet) % 2 {
                    0 => matches!(sign, '█' | '▀'),
                    _ => matches!(sign, '█' | '▄'),
                };
                assert_eq!(is_light, code[(x, y)] == qrcode::Color::Light, "{x}, {y}");
            }
        }
    }

    #[test]
    fn what_is_too_long_is_no_code() {
        assert_eq!(lines(&"x".repeat(10_000)), None);
    }
}
