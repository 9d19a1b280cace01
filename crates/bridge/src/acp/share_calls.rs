//! The calls that write sessions for other readers: as files, and as briefs for other agents.

use super::{
    answer::Answer,
    calls::{Methods, now},
    history::{self, within},
    history_calls::stopped,
    prepared_files::KEPT_FOR,
};
use openagents_connection::{fault::Fault, rpc};
use openagents_core::text::{clip_bytes, one_line};
use openagents_sessions::{Session, SessionError, run_blocking};
use openagents_share::{
    brief::{Brief, BriefOptions},
    export::{Document, ExportOptions, Exported, Format, Head, OwnNames, ToolOutput},
    secrets::FoundSecret,
};
use openagents_wire::{
    BriefLine, BriefQuery, ExportFormat, ExportPart, ExportedTools, PrepareExport, PreparedExport,
    ReadExport, SessionBrief, SessionName, SessionSecret, methods,
};
use std::time::Duration;

/// Time limit for reading a session.
const READ_TIME: Duration = Duration::from_secs(60);
/// Maximum bytes of a part.
const PART: usize = 256 << 10;
/// Maximum bytes of a file's name without its ending.
const NAME: usize = 80;
/// The sizes of a brief that a client may choose, in tokens.
const TOKENS: std::ops::RangeInclusive<usize> = 200..=32_000;

impl Methods {
    pub(super) async fn prepare_export(&self, wanted: PrepareExport) -> Result<Answer, Fault> {
        let files = self.services.prepared_files.clone();
        let read: Box<dyn FnOnce() -> Result<Document, Fault> + Send> = match wanted.provider.clone() {
            None => {
                let session = self.session(&wanted.id).await?;
                Box::new(move || own_document(&session))
            }
            Some(provider) => {
                let past = self.past();
                let who = &self.lease.pass.who;
                let (history, rows) = (past.history_for(who)?, past.rows_for(who));
                let name = SessionName { provider, id: wanted.id.clone() };
                Box::new(move || {
                    let budget = within(READ_TIME);
                    let session = history::find(&history, &name, &budget)?;
                    let title = rows.row(&session).title;
                    Document::read(&history, &session, title, &budget)
                        .map_err(|error| history::unreadable(&session, &error))
                })
            }
        };
        let later = files.clone();
        Ok(Answer::Later(Box::pin(async move {
            let write = move || {
                let document = read()?;
                let names = OwnNames::of_this_computer(document.head.folder.as_deref());
                let zone = jiff::tz::TimeZone::system();
                let Exported { text, title, secrets, omitted } =
                    document.export(&options(&wanted), &names, &zone);
                let name = file_name(title.as_deref(), wanted.format);
                let (bytes, secrets) = (text.len(), shown_secrets(&secrets));
                Ok(PreparedExport { export: files.add(text), name, bytes, secrets, omitted })
            };
            let prepared: Result<PreparedExport, Fault> = run_blocking(write).await.ok_or_else(stopped)?;
            tokio::spawn(async move {
                tokio::time::sleep(KEPT_FOR).await;
                later.drop_old();
            });
            Ok(rpc::value(&prepared?))
        })))
    }

    pub(super) fn read_export(&self, wanted: &ReadExport) -> Result<Answer, Fault> {
        let text = self.services.prepared_files.get(&wanted.export).ok_or_else(|| {
            Fault::not_found("This export has expired. Export the session again.".to_owned())
        })?;
        let start = text.floor_char_boundary(wanted.offset);
        let end = text.floor_char_boundary(start.saturating_add(PART));
        let next = (end < text.len()).then_some(end);
        now::<methods::ExportRead>(ExportPart { text: text[start..end].to_owned(), next })
    }

    pub(super) fn brief(&self, wanted: BriefQuery) -> Result<Answer, Fault> {
        let BriefQuery { session, agent, tokens, shown } = wanted;
        if let Some(tokens) = tokens.filter(|tokens| !TOKENS.contains(tokens)) {
            let (least, most) = TOKENS.into_inner();
            return Err(Fault::invalid_params(format!("`tokens` is {tokens}; it may be {least} to {most}.")));
        }
        let history = self.past().history_for(&self.lease.pass.who)?;
        let write = move || {
            let budget = within(READ_TIME);
            let session = history::find(&history, &session, &budget)?;
            let options = BriefOptions { agent, tokens, shown };
            let zone = jiff::tz::TimeZone::system();
            let brief = Brief::of(&history, &session, &options, &zone, &budget)
                .map_err(|error| history::unreadable(&session, &error))?;
            let lines = brief.sources.iter().map(|(line, source)| BriefLine { line: *line, source: *source });
            Ok(SessionBrief {
                lines: lines.collect(),
                left_out: brief.left_out,
                tokens: brief.tokens,
                secrets: shown_secrets(&brief.secrets),
                text: brief.text,
            })
        };
        Ok(Answer::Later(Box::pin(async move {
            let brief: Result<SessionBrief, Fault> = run_blocking(write).await.ok_or_else(stopped)?;
            Ok(rpc::value(&brief?))
        })))
    }
}

fn options(wanted: &PrepareExport) -> ExportOptions {
    ExportOptions {
        format: match wanted.format {
            ExportFormat::Markdown => Format::Markdown,
            ExportFormat::Html => Format::Html,
            ExportFormat::Json => Format::Json,
        },
        tools: match wanted.tools {
            ExportedTools::Short => ToolOutput::Short,
            ExportedTools::Full => ToolOutput::Full,
            ExportedTools::None => ToolOutput::None,
        },
        show_secrets: false,
        shown: wanted.shown.clone(),
    }
}

/// Reads a session of this bridge.
fn own_document(session: &Session) -> Result<Document, Fault> {
    let mut times: Option<(i64, i64)> = None;
    let mut document = Document::new(Head {
        title: session.title(),
        agent: "OpenAgents".to_owned(),
        folder: Some(session.cwd().to_owned()),
        ..Head::default()
    });
    let title = session.title();
    let read = session.each_update(&mut |stored| {
        times = Some((times.map_or(stored.ts, |(first, _)| first), stored.ts));
        document.push(stored.seq, Some(stored.ts), stored.update.clone());
    });
    read.map_err(SessionError::from)?;
    (document.head.created_at, document.head.updated_at) =
        times.map(|(from, to)| (Some(from), to)).unwrap_or_default();
    // The log also has earlier titles.
    document.head.title = title;
    Ok(document)
}

fn shown_secrets(secrets: &[FoundSecret]) -> Vec<SessionSecret> {
    let shown = secrets.iter().map(|secret| SessionSecret {
        rule: secret.rule.to_owned(),
        line: secret.line,
        beginning: secret.beginning().to_owned(),
    });
    shown.collect()
}

/// Returns a name that every file system accepts.
fn file_name(title: Option<&str>, format: ExportFormat) -> String {
    let ending = match format {
        ExportFormat::Markdown => "md",
        ExportFormat::Html => "html",
        ExportFormat::Json => "json",
    };
    let is_plain = |letter: char| letter.is_alphanumeric() || " -_()".contains(letter);
    let title: String =
        title.unwrap_or_default().chars().map(|letter| if is_plain(letter) { letter } else { ' ' }).collect();
    let title = one_line(title.trim());
    let title = if title.is_empty() { "session".to_owned() } else { clip_bytes(&title, NAME) };
    format!("{}.{ending}", title.trim_end_matches('…').trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain() {
        for (title, expected) in [
            (Some("Fix: the cart/total?"), "Fix the cart total.md"),
            (Some("../../etc/passwd"), "etc passwd.md"),
            (Some("日本語のタイトル"), "日本語のタイトル.md"),
            (Some("\u{202e}..."), "session.md"),
            (None, "session.md"),
        ] {
            assert_eq!(file_name(title, ExportFormat::Markdown), expected);
        }
        assert!(file_name(Some(&"ä".repeat(500)), ExportFormat::Html).len() < 100);
    }
}
