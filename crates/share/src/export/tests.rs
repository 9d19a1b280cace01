use super::{parts::newest_within, *};
use openagents_core::update::{
    AgentMessage, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate, ToolContent,
    UserMessage,
};
use serde_json::{Value, json};

const TOKEN: &str = "ghp_9aJ2kLmN0pQrStUvWxYz1234567890AbCdEf";

fn prompt(text: &str) -> SessionUpdate {
    SessionUpdate::UserMessage(UserMessage { text: text.to_owned(), ..UserMessage::default() })
}

fn answer(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), ..AgentMessage::default() })
}

fn call(id: &str, name: &str, details: ToolCallDetails) -> SessionUpdate {
    let (call_id, name) = (id.to_owned(), name.to_owned());
    SessionUpdate::ToolCall(ToolCall { call_id, name, details, ..ToolCall::default() })
}

fn outcome(id: &str, status: ToolCallStatus, content: Vec<ToolContent>) -> SessionUpdate {
    let details = ToolCallDetails { content, ..ToolCallDetails::default() };
    SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id: id.to_owned(), status, late: false, details })
}

fn done(output: &str) -> ToolCallStatus {
    ToolCallStatus::Completed { output: output.into(), cut: Default::default() }
}

fn document(updates: Vec<SessionUpdate>) -> Document {
    let mut document = Document::new(Head {
        title: Some("Fix the *cart*".into()),
        agent: "Claude Code".into(),
        model: Some("opus".into()),
        branch: Some("main".into()),
        folder: Some("/home/kim/shop".into()),
        created_at: Some(1_793_500_000_000),
        updated_at: 1_793_503_000_000,
    });
    for (update, line) in updates.into_iter().zip(1..) {
        document.push(line, Some(1_793_500_000_000 + line as i64 * 60_000), update);
    }
    document
}

fn example() -> Document {
    let edit = ToolContent::Diff {
        path: "/home/kim/shop/cart.py".into(),
        old_text: Some("a = 1\nb = 2\n".into()),
        new_text: "a = 1\nb = 3\n".into(),
        truncated: false,
    };
    let terminal = ToolContent::Terminal {
        terminal_id: "2".into(),
        command: Some("pytest".into()),
        output: "\u{1b}[31mE\u{1b}[0m one\n".to_owned() + &"more\n".repeat(30),
        truncated: false,
        exit_code: Some(1),
        signal: None,
    };
    let titled = |title: &str| ToolCallDetails { title: Some(title.into()), ..ToolCallDetails::default() };
    document(vec![
        prompt("Fix the cart\n```\nunclosed"),
        answer(&format!("I use {TOKEN} of kim.\n\n```py\nopen = 1")),
        call("1", "Edit", ToolCallDetails { content: vec![edit], ..titled("Edit cart.py") }),
        outcome("1", done("ok"), vec![]),
        call("2", "Bash", titled("pytest /home/kim/shop/tests")),
        outcome("2", ToolCallStatus::Error { message: "exit code 1".into() }, vec![terminal]),
        call("3", "Search `x`", ToolCallDetails::default()),
        outcome("3", done("````\n</pre><script>alert(1)</script>"), vec![]),
        answer("Done: <b>\u{202e}evil</b>"),
    ])
}

fn exported(options: &ExportOptions) -> Exported {
    let names = OwnNames::new(
        Some(std::path::Path::new("/home/kim/shop")),
        Some("/home/kim".into()),
        Some("kim"),
        Some("snowbird"),
    );
    example().export(options, &names, &TimeZone::UTC)
}

#[test]
fn markdown_shows_messages_changes_and_output() {
    let exported = exported(&ExportOptions::default());
    assert_eq!((exported.secrets.len(), exported.secrets[0].rule, exported.omitted), (1, "github-pat", 0));
    insta::assert_snapshot!(exported.text);
}

#[test]
fn html_loads_and_runs_nothing() {
    let exported = exported(&ExportOptions { format: Format::Html, ..ExportOptions::default() });
    let main = exported.text.split("<main>").nth(1).unwrap();
    insta::assert_snapshot!(main);
    for forbidden in ["<script", "<link", "src=", "<img", "http:", "https:", "@import", TOKEN] {
        assert!(!exported.text.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn json_has_every_event() {
    let exported = exported(&ExportOptions { format: Format::Json, ..ExportOptions::default() });
    let json: Value = serde_json::from_str(&exported.text).unwrap();
    assert_eq!((&json["format"], &json["session"]["agent"]), (&json!(1), &json!("Claude Code")));
    let events = json["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "assistant", "tool", "tool", "tool", "assistant"]);
    assert_eq!(events[3]["tool"]["title"], "pytest tests");
    assert!(!exported.text.contains(TOKEN));
}

#[test]
fn secrets_are_shown_by_choice() {
    let one = exported(&ExportOptions { shown: vec![0], ..ExportOptions::default() });
    assert!(one.text.contains(TOKEN) && one.text.ends_with("*1 value shown by choice.*\n"), "{}", one.text);
    let all = exported(&ExportOptions { show_secrets: true, ..ExportOptions::default() });
    assert_eq!(one.text, all.text);
}

#[test]
fn tool_output_can_be_left_out() {
    let none = exported(&ExportOptions { tools: ToolOutput::None, ..ExportOptions::default() }).text;
    assert!(none.contains("- `pytest tests`") && !none.contains("more"), "{none}");
    let full = exported(&ExportOptions { tools: ToolOutput::Full, ..ExportOptions::default() }).text;
    assert_eq!(full.matches("more\n").count(), 30);
}

#[test]
fn long_session_loses_its_oldest_entries() {
    let lengths = |lengths: &[usize], bytes| {
        let document = document(lengths.iter().map(|length| prompt(&"a".repeat(*length))).collect());
        let (parts, omitted) = newest_within(&document.entries, bytes, |entry| match &entry.kind {
            EntryKind::Prompt(text) => text.clone(),
            _ => String::new(),
        });
        (parts.iter().map(String::len).collect::<Vec<_>>(), omitted)
    };
    assert_eq!(lengths(&[10, 5, 4], 10), (vec![5, 4], 1));
    assert_eq!(lengths(&[10, 1], 11), (vec![10, 1], 0));
    assert_eq!(lengths(&[1, 10], 5), (vec![], 2));
}

#[test]
fn prompt_that_was_taken_back_is_left_out() {
    let queued = |text: &str, removed| {
        let message_id = Some("m1".to_owned());
        let text = text.to_owned();
        SessionUpdate::UserMessage(UserMessage { text, message_id, removed, ..UserMessage::default() })
    };
    let document = document(vec![prompt("first"), queued("secret plan", false), queued("", true)]);
    let exported =
        document.export(&ExportOptions::default(), &OwnNames::new(None, None, None, None), &TimeZone::UTC);
    assert!(exported.text.contains("> first") && !exported.text.contains("secret plan"), "{}", exported.text);
}

#[test]
fn streamed_message_is_one_entry() {
    let chunk = |text: &str| {
        let message_id = Some("m".to_owned());
        SessionUpdate::AgentMessage(AgentMessage { text: text.into(), message_id, ..AgentMessage::default() })
    };
    let document = document(vec![chunk("a "), chunk("b"), prompt("x"), chunk("c")]);
    let answers = document.entries.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Answer(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), ["a b", "c"]);
}

proptest::proptest! {
    #[test]
    fn hostile_text_stays_text(text in "(?s)(<[a-z/]{1,8}[^>]{0,10}>|```|~~~|.|\n){0,40}") {
        let names = OwnNames::new(None, None, None, None);
        let document = || document(vec![prompt(&text), answer(&text), prompt("the end")]);
        let options = |format| ExportOptions { format, show_secrets: true, ..ExportOptions::default() };
        let markdown = document().export(&options(Format::Markdown), &names, &TimeZone::UTC).text;
        // The last prompt is a quotation, whatever came before.
        let html = crate::markdown::to_html(&markdown, crate::markdown::Code::Plain);
        proptest::prop_assert!(html.contains("<blockquote>\n<p>the end</p>\n</blockquote>"), "{}", html);
        let html = document().export(&options(Format::Html), &names, &TimeZone::UTC).text;
        proptest::prop_assert!(!html.contains("<script") && !html.contains("<iframe"));
    }
}
