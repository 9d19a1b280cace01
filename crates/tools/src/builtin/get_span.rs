//! The tool `content.get_span`.

use super::typed::TypedTool;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use openagents_core::{
    update::Cut,
    workspace::{self, MarkedEncoding, Workspace},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Read},
    ops::RangeInclusive,
    time::Duration,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// File relative to the workspace.
    path: String,
    /// First line, from 1.
    #[serde(default = "first_line")]
    start_line: u64,
    /// Last line, inclusive; without it as many as the tool gives.
    end_line: Option<u64>,
    /// Lines to add before and after.
    #[serde(default)]
    context: u64,
}

fn first_line() -> u64 {
    1
}

#[derive(Debug, Default)]
struct Span {
    lines: Vec<String>,
    truncated: bool,
    lossy: bool,
}

const TIME: Duration = Duration::from_millis(1500);

pub(super) fn get_span() -> impl Tool {
    TypedTool {
        name: "content.get_span",
        description: "Reads a span of lines from a text file in the workspace (at most 120 lines).",
        run,
    }
}

fn run(context: &ToolContext<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let limits = context.limits;
    let asked_end = arguments.end_line.unwrap_or(u64::MAX);
    if arguments.start_line == 0 || asked_end < arguments.start_line {
        let range = format!("Invalid line range: {}-{asked_end}", arguments.start_line);
        return Err(ToolError::InvalidParameters(range));
    }
    // Requested lines take precedence over context lines.
    let asked = (asked_end - arguments.start_line).saturating_add(1);
    let around = arguments.context.min(limits.span_lines.saturating_sub(asked) / 2);
    let start = arguments.start_line.saturating_sub(around).max(1);
    let end = asked_end.saturating_add(around);
    let path = context.workspace.resolve(&arguments.path)?;
    let shown = Workspace::shown(&path);
    let opened = context.workspace.open_file(&path)?;
    if opened.size > limits.span_file_bytes {
        return Err(ToolError::ExecutionFailed(format!("File too large: {} bytes", opened.size)));
    }
    let last = end.min(start.saturating_add(limits.span_lines - 1));
    let budget = context.budget(TIME);
    let mut file = BufReader::new(opened.file.take(limits.span_file_bytes));
    let named = |error| ToolError::io(&shown, &error);
    let encoding = MarkedEncoding::detect(file.fill_buf().map_err(named)?);
    let file = BufReader::new(workspace::decoding(file));
    let span =
        read_lines(file, start..=last, last < end, limits.span_bytes, &|| budget.spent()).map_err(named)?;
    budget.check_cancelled()?;
    let given = span.lines.len() as u64;
    if given == 0 && start > 1 {
        return Err(ToolError::InvalidParameters(format!(
            "Invalid line range: {shown} ends before line {start}"
        )));
    }
    let cut = Cut { truncated: span.truncated, timed_out: budget.timed_out(), omitted: 0 };
    let mut result = json!({
        "path": shown,
        "start_line": start,
        "end_line": start + given - u64::from(given > 0),
        "lines": span.lines,
        "truncated": span.truncated,
        "encoding": match encoding {
            Some(utf16 @ (MarkedEncoding::Utf16Le | MarkedEncoding::Utf16Be)) => utf16.name(),
            _ if span.lossy => "utf-8-lossy",
            _ => "utf-8",
        },
    });
    if span.truncated {
        result["original_size"] = opened.size.into();
    }
    Ok(ToolOutput::new(result, cut))
}

/// Reads a range of lines, counted from 1, up to `bytes` (each line counts one byte more than its length). `capped`
/// means that more lines were requested: if there are more, the span is cut.
fn read_lines(
    mut reader: impl BufRead,
    range: RangeInclusive<u64>,
    capped: bool,
    bytes: usize,
    spent: &dyn Fn() -> bool,
) -> std::io::Result<Span> {
    let (mut span, mut used, mut line) = (Span::default(), 0, Vec::new());
    for number in 1..=*range.end() {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(span);
        }
        if spent() {
            span.truncated = true;
            return Ok(span);
        }
        if !range.contains(&number) {
            continue;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let room = bytes.saturating_sub(used + 1);
        if text.len() > room {
            span.truncated = true;
            // A first line that is too long is truncated instead of dropped.
            if span.lines.is_empty() {
                span.push(cut_at_character(text, room));
            }
            return Ok(span);
        }
        used += text.len() + 1;
        span.push(text);
    }
    span.truncated = capped && !reader.fill_buf()?.is_empty();
    Ok(span)
}

impl Span {
    fn push(&mut self, text: &[u8]) {
        let line = String::from_utf8_lossy(text);
        self.lossy |= matches!(line, std::borrow::Cow::Owned(_));
        self.lines.push(line.into_owned());
    }
}

fn cut_at_character(text: &[u8], room: usize) -> &[u8] {
    let mut end = room.min(text.len());
    while end > 0 && end < text.len() && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use crate::builtin::testing::{Bench, call};
    use serde_json::json;

    #[test]
    fn get_span_returns_requested_lines() {
        let bench = Bench::with(&[("a.txt", "one\r\ntwo\nthree\n")]);
        let output =
            call(&bench, "content.get_span", json!({"path": "a.txt", "startLine": 1, "endLine": 50}))
                .unwrap();
        assert_eq!(
            output.to_json(),
            json!({"path": "a.txt", "start_line": 1, "end_line": 3, "lines": ["one", "two", "three"],
                   "truncated": false, "encoding": "utf-8"})
        );
        let output =
            call(&bench, "content.get_span", json!({"path": "a.txt", "start_line": 2, "end_line": 2}))
                .unwrap();
        assert_eq!(output.to_json()["lines"], json!(["two"]));
        let output = call(
            &bench,
            "content.get_span",
            json!({"path": "a.txt", "startLine": 2, "endLine": 2, "context": 1}),
        );
        assert_eq!(output.unwrap().to_json()["lines"], json!(["one", "two", "three"]));
    }

    #[test]
    fn get_span_reports_every_cut() {
        let many = (1..=500).map(|n| format!("{n}\n")).collect::<String>();
        let bench = Bench::with(&[("many", &many), ("long", &"é".repeat(9000)), ("empty", "")]);
        let output =
            call(&bench, "content.get_span", json!({"path": "many", "startLine": 11, "endLine": 400}))
                .unwrap();
        assert_eq!(output.to_json()["lines"].as_array().unwrap().len(), 120);
        assert_eq!((&output.to_json()["end_line"], output.cut.truncated), (&json!(130), true));
        assert_eq!(output.to_json()["original_size"], json!(many.len()));
        let output = call(&bench, "content.get_span", json!({"path": "long"})).unwrap();
        assert_eq!(output.to_json()["lines"][0].as_str().unwrap().len(), 8190);
        assert_eq!((output.cut.truncated, &output.to_json()["encoding"]), (true, &json!("utf-8")));
        let output =
            call(&bench, "content.get_span", json!({"path": "empty", "startLine": 1, "endLine": 9})).unwrap();
        assert_eq!((&output.to_json()["lines"], &output.to_json()["end_line"]), (&json!([]), &json!(1)));
    }

    #[test]
    fn get_span_prefers_requested_lines_to_context() {
        let lines = |count: u64| (1..=count).map(|n| format!("{n}\n")).collect::<String>();
        let bench = Bench::with(&[("full", &lines(120)), ("long", &lines(400))]);
        let span = |arguments| {
            let output = call(&bench, "content.get_span", arguments).unwrap();
            let number = |key: &str| output.to_json()[key].as_u64().unwrap();
            (number("start_line"), number("end_line"), output.cut.truncated)
        };
        assert_eq!(span(json!({"path": "full", "startLine": 1, "endLine": 400})), (1, 120, false));
        assert_eq!(span(json!({"path": "full"})), (1, 120, false));
        assert_eq!(span(json!({"path": "long"})), (1, 120, true));
        let around = json!({"path": "long", "startLine": 300, "endLine": 310, "context": 200});
        assert_eq!(span(around), (246, 364, false));
    }

    #[test]
    fn get_span_names_bad_range_directory_and_missing_file() {
        let bench = Bench::with(&[("src/a", "x\n")]);
        let rows = [
            (
                json!({"path": "src/a", "startLine": 5, "endLine": 2}),
                "Invalid parameters: Invalid line range: 5-2",
            ),
            (
                json!({"path": "src/a", "startLine": 0, "endLine": 9}),
                "Invalid parameters: Invalid line range: 0-9",
            ),
            (
                json!({"path": "src/a", "startLine": 9}),
                "Invalid parameters: Invalid line range: src/a ends before line 9",
            ),
            (json!({"path": "src"}), "Invalid parameters: src is a directory"),
            (json!({"path": "nope"}), "File not found: nope"),
            (json!({"path": "../x"}), "Path outside workspace: ../x"),
            (json!({}), "Invalid parameters: path is missing"),
        ];
        for (arguments, expected) in rows {
            let error = call(&bench, "content.get_span", arguments).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn get_span_decodes_byte_order_mark() {
        let bench = Bench::with(&[("utf8.py", "\u{feff}def load():\n    pass\n")]);
        let text = "größe\r\nend\r\n";
        let bytes: Vec<u8> =
            [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        std::fs::write(bench.root().join("utf16.ps1"), bytes).unwrap();
        for (path, lines, encoding) in [
            ("utf8.py", json!(["def load():", "    pass"]), "utf-8"),
            ("utf16.ps1", json!(["größe", "end"]), "utf-16le"),
        ] {
            let output = call(&bench, "content.get_span", json!({"path": path})).unwrap().to_json();
            assert_eq!((&output["lines"], &output["encoding"]), (&lines, &json!(encoding)), "{path}");
        }
    }

    #[test]
    fn get_span_flags_invalid_utf8() {
        let bench = Bench::with(&[]);
        std::fs::write(bench.root().join("latin1"), b"caf\xe9\n").unwrap();
        let output = call(&bench, "content.get_span", json!({"path": "latin1"})).unwrap();
        assert_eq!(output.to_json()["lines"], json!(["caf\u{fffd}"]));
        assert_eq!(output.to_json()["encoding"], json!("utf-8-lossy"));
    }
}
