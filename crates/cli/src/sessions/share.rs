//! `openagents sessions export` and `openagents sessions brief`: a session for other readers.

use crate::{
    args::{Export, ExportForm, ExportTools},
    output, surroundings, words,
};
use anyhow::Context;
use jiff::tz::TimeZone;
use openagents_share::{
    brief::{Brief, BriefOptions},
    export::{Document, ExportOptions, Format, OwnNames, ToolOutput},
    secrets::FoundSecret,
};
use serde_json::json;
use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    process::ExitCode,
};

/// The exit code if the user does not confirm that secrets are written.
const NOT_CONFIRMED: u8 = 3;

pub(super) fn export(export: &Export) -> anyhow::Result<ExitCode> {
    let history = surroundings::history();
    let session = surroundings::session(&history, &export.id)?;
    let unread = || session.file_path.display().to_string();
    let document =
        Document::read(&history, &session, None, &surroundings::patience()).with_context(unread)?;
    let names = OwnNames::of_this_computer(session.cwd.as_deref());
    let options = ExportOptions {
        format: match export.format {
            ExportForm::Md => Format::Markdown,
            ExportForm::Html => Format::Html,
            ExportForm::Json => Format::Json,
        },
        tools: match export.tools {
            ExportTools::Short => ToolOutput::Short,
            ExportTools::Full => ToolOutput::Full,
            ExportTools::None => ToolOutput::None,
        },
        show_secrets: export.show_secrets,
        shown: Vec::new(),
    };
    let unread = document.unread;
    let exported = document.export(&options, &names, &TimeZone::system());
    let secrets = &exported.secrets;
    if export.show_secrets && !secrets.is_empty() {
        list(secrets);
        let question = format!("Write {} into the file?", words::count(secrets.len() as u64, "secret"));
        let is_confirmed = export.force
            || output::ask(&question, "--force").unwrap_or_else(|error| {
                output::warn(&error.to_string());
                false
            });
        if !is_confirmed {
            return Ok(ExitCode::from(NOT_CONFIRMED));
        }
    }
    match &export.output {
        None => output::whole(&exported.text)?,
        Some(path) => {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            // A link or a file that appears now is not replaced either.
            if !export.force {
                options.create_new(true);
            }
            let written = options.open(path).and_then(|mut file| file.write_all(exported.text.as_bytes()));
            if let Err(error) = &written
                && error.kind() == ErrorKind::AlreadyExists
            {
                anyhow::bail!("{} exists; --force replaces it", path.display());
            }
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if exported.omitted > 0 {
        output::warn("the session is too long for one file: its beginning is left out");
    }
    if unread > 0 {
        output::warn(&format!("{} of this session could not be read", words::count(unread, "line")));
    }
    if !export.show_secrets && !secrets.is_empty() {
        list(secrets);
        output::warn(&format!(
            "{} hidden; check the file before you share it",
            words::count(secrets.len() as u64, "secret")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn brief(
    id: &str,
    agent: Option<String>,
    tokens: Option<usize>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let history = surroundings::history();
    let session = surroundings::session(&history, id)?;
    let options = BriefOptions { agent, tokens, ..BriefOptions::default() };
    let brief = Brief::of(&history, &session, &options, &TimeZone::system(), &surroundings::patience())
        .with_context(|| session.file_path.display().to_string())?;
    if json {
        let lines: Vec<_> =
            brief.sources.iter().map(|(line, source)| json!({"line": line, "source": source})).collect();
        output::json_pretty(&json!({"text": brief.text, "lines": lines, "leftOut": brief.left_out,
            "tokens": brief.tokens, "hidden": brief.secrets.len()}))?;
    } else {
        output::piece(&brief.text)?;
        list(&brief.secrets);
    }
    Ok(ExitCode::SUCCESS)
}

/// Names the secrets on standard error.
fn list(secrets: &[FoundSecret]) {
    for secret in secrets {
        output::warn(&format!(
            "line {}: {} {}…",
            secret.line,
            secret.rule,
            output::printable(secret.beginning())
        ));
    }
}
