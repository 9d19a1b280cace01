use super::{HarmonyVocabulary, names::MARKERS, parser::Parser};
use crate::chat::{AnswerParser, Ending, Vocabulary};
use openagents_core::model::{ModelEvent, ToolSpec};
use proptest::prelude::*;
use serde_json::json;

fn tools() -> Vec<ToolSpec> {
    let tool =
        |name: &str, parameters| ToolSpec { name: name.into(), description: String::new(), parameters };
    vec![
        tool(
            "fs.list_dir",
            json!({"properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}}),
        ),
        tool("grep", json!({"properties": {"pattern": {"type": "string"}}, "required": ["pattern"]})),
    ]
}

/// The parsed answer on one line: `text`, `(preamble)`, `[reasoning]`, `name{arguments}`, and the ending.
fn summary(pieces: &[ModelEvent], ending: Ending) -> String {
    let [mut text, mut preamble, mut reasoning, mut calls] = [const { String::new() }; 4];
    for piece in pieces {
        match piece {
            ModelEvent::Text(piece) => text.push_str(piece),
            ModelEvent::Preamble(piece) => preamble.push_str(piece),
            ModelEvent::Reasoning(piece) => reasoning.push_str(piece.for_template()),
            ModelEvent::ToolCall(call) => calls.push_str(&format!(" {}{}", call.name, call.arguments)),
            other => panic!("{other:?}"),
        }
    }
    let mut shown = String::new();
    for (begin, part, end) in [(" [", &reasoning, "]"), (" (", &preamble, ")"), (" ", &text, "")] {
        if !part.is_empty() {
            shown.push_str(&format!("{begin}{part}{end}"));
        }
    }
    format!("{shown}{calls} {ending:?}").trim_start().to_owned()
}

fn parse(tokens: &[(i32, Vec<u8>)], tools: &[ToolSpec]) -> (Vec<ModelEvent>, Ending) {
    let mut parser = Parser::new(tools);
    let mut out = Vec::new();
    for (token, bytes) in tokens {
        parser.push(*token, bytes, &mut out);
    }
    let ending = parser.finish(None, &mut out);
    (out, ending)
}

fn tokens(answer: &str) -> Vec<(i32, Vec<u8>)> {
    let vocabulary = HarmonyVocabulary;
    vocabulary.markup(answer).into_iter().map(|token| (token, vocabulary.bytes(token))).collect()
}

fn answer(answer: &str, tools: &[ToolSpec]) -> String {
    let (out, ending) = parse(&tokens(answer), tools);
    summary(&out, ending)
}

const CALLED: &str = r#"fs.list_dir{"path":"."} Whole"#;

#[test]
fn valid_answers_are_parsed() {
    let rows = [
        ("<|channel|>final<|message|>Hello 🦊!<|return|>", "Hello 🦊! Whole"),
        (
            "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
            "[Hm] Hello Whole",
        ),
        (
            r#"<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.fs_list_dir <|constrain|>json<|message|>{"path":"."}<|call|>"#,
            r#"[Hm] fs.list_dir{"path":"."} Whole"#,
        ),
        (
            r#" to=functions.fs_list_dir<|channel|>commentary <|constrain|>json<|message|>{"path":"."}<|call|>"#,
            CALLED,
        ),
        (
            r#"<|channel|>commentary<|message|>I look around.<|end|><|start|>assistant to=functions.grep<|channel|>commentary <|constrain|>json<|message|>{"pattern":"x"}<|call|>"#,
            r#"(I look around.) grep{"pattern":"x"} Whole"#,
        ),
        ("<|channel|>final<|message|>{\"path\":\".\"} is JSON<|return|>", "{\"path\":\".\"} is JSON Whole"),
        ("<|channel|>final<|message|>{\"answer\":42}<|return|>", "{\"answer\":42} Whole"),
        ("<|channel|>final<|message|>{<|return|>", "{ Whole"),
        ("<|channel|>final<|message|>Hi<|endoftext|>", "Hi Whole"),
    ];
    for (text, expected) in rows {
        assert_eq!(answer(text, &tools()), expected, "{text}");
    }
}

#[test]
fn mistakes_of_models_are_repaired() {
    let body = r#"<|message|>{"path":"."}<|call|>"#;
    let rows = [
        // A missing `<|start|>`, with and without the role.
        (
            "<|channel|>analysis<|message|>Hm<|end|>assistant<|channel|>final<|message|>Hi<|return|>",
            "[Hm] Hi Whole",
        ),
        ("<|channel|>analysis<|message|>Hm<|end|><|channel|>final<|message|>Hi<|return|>", "[Hm] Hi Whole"),
        // A missing `<|end|>`, with and without the `<|start|>`.
        (
            "<|channel|>analysis<|message|>Hm<|start|>assistant<|channel|>final<|message|>Hi<|return|>",
            "[Hm] Hi Whole",
        ),
        ("<|channel|>analysis<|message|>Hm<|channel|>final<|message|>Hi<|return|>", "[Hm] Hi Whole"),
        // Junk between messages.
        (
            "<|channel|>analysis<|message|>Hm<|end|>\n\nHm! <|constrain|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
            "[Hm] Hi Whole",
        ),
        // Channel and recipient glued together, in either order.
        (&format!("<|channel|>commentaryto=functions.fs_list_dir <|constrain|>json{body}"), CALLED),
        (&format!(" to=functions.fs_list_dircommentary{body}"), CALLED),
        // No space before `<|constrain|>`; no space at all; the word without its marker.
        (&format!("<|channel|>commentary to=functions.fs_list_dir<|constrain|>json{body}"), CALLED),
        (&format!("<|channel|>commentary to=functions.fs_list_dir{body}"), CALLED),
        (&format!("<|channel|>commentary to=functions.fs_list_dir json{body}"), CALLED),
        // A call in another channel.
        (&format!("<|channel|>analysis to=functions.fs_list_dir code{body}"), CALLED),
        (&format!("<|channel|>final to=functions.fs_list_dir{body}"), CALLED),
        // The tool under our name, or outside its namespace.
        (&format!("<|channel|>commentary to=functions.fs.list_dir{body}"), CALLED),
        (&format!("<|channel|>commentary to=fs_list_dir{body}"), CALLED),
        // Extra words in the header.
        (
            &format!(
                "<|channel|>commentary and now to=functions.fs_list_dir <|constrain|> json please{body}"
            ),
            CALLED,
        ),
        // JSON that can only be a call.
        (&format!("<|channel|>commentary <|constrain|>json{body}"), CALLED),
        (&format!("<|channel|>commentary{body}"), CALLED),
        (&format!("<|channel|>final{body}"), CALLED),
        (r#"{"path":"."}<|return|>"#, CALLED),
        (
            r#"<|channel|>final<|message|>{"name":"functions.fs_list_dir","arguments":{"path":"."}}<|return|>"#,
            CALLED,
        ),
        // A call that ends like a message; arguments with trailing text, or without their last bracket.
        (r#"<|channel|>commentary to=functions.fs_list_dir<|message|>{"path":"."}<|end|><|return|>"#, CALLED),
        (r#"<|channel|>commentary to=functions.fs_list_dir<|message|>{"path":"."}}<|call|>"#, CALLED),
        (r#"<|channel|>commentary to=functions.fs_list_dir<|message|>{"path":"."<|call|>"#, CALLED),
        ("<|channel|>commentary to=functions.fs_list_dir<|message|><|call|>", "fs.list_dir{} Whole"),
        // An unknown tool is still a call; the agent loop reports the error.
        ("<|channel|>commentary to=python<|message|>{}<|call|>", "python{} Whole"),
        // Misplaced markers.
        ("<|channel|>final<|message|>Hi<|message|> there<|constrain|>!<|return|>", "Hi there! Whole"),
        // An unknown channel may be reasoning.
        (
            "<|channel|>justify<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
            "[Hm] Hi Whole",
        ),
        // A message with a foreign role.
        (
            "<|channel|>final<|message|>Hi<|end|><|start|>user<|message|>Delete all<|end|><|return|>",
            "Hi Whole",
        ),
        // Text after the end is ignored.
        (
            "<|channel|>final<|message|>Hi<|return|><|start|>assistant<|channel|>final<|message|>Ho<|return|>",
            "Hi Whole",
        ),
        // Two messages in one channel.
        (
            "<|channel|>final<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>Ho<|return|>",
            "Hi\n\nHo Whole",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(answer(text, &tools()), expected, "{text}");
    }
}

/// Headers that other users of gpt-oss reported, each in front of an answer or a call.
#[test]
fn malformed_headers_are_accepted() {
    const ANSWERED: &str = "<|start|>assistant<|channel|>final<|message|>Paris.<|return|>";
    let body = r#"<|message|>{"path":"."}<|call|>"#;
    let rows = [
        // Free text, punctuation or a doubled word in place of the channel, without a body.
        (
            format!(
                "<|channel|>I should answer shortly<|end|><|start|>assistant<|channel|>analysis<|message|>short<|end|>{ANSWERED}"
            ),
            "[short] Paris. Whole",
        ),
        (format!("<|channel|>??<|end|>{ANSWERED}"), "Paris. Whole"),
        (format!("<|channel|>??<|message|>secret<|end|>{ANSWERED}"), "[secret] Paris. Whole"),
        (
            format!(
                "<|channel|>commentary?commentary?<|end|><|start|>assistant<|channel|>analysis<|message|>x<|end|>{ANSWERED}"
            ),
            "[x] Paris. Whole",
        ),
        // Two recipients, the first of which is the model itself.
        (
            format!(
                "<|channel|>commentary to=assistant<|channel|>commentary to=functions.fs_list_dir <|constrain|>json{body}"
            ),
            CALLED,
        ),
        (
            format!("<|channel|>commentary to=assistant to=functions.fs_list_dir <|constrain|>json{body}"),
            CALLED,
        ),
        // The recipient in the role, after a second `<|start|>`.
        (
            format!(
                "<|start|>assistant to=functions.fs_list_dir<|channel|>commentary <|constrain|>json{body}"
            ),
            CALLED,
        ),
        (format!("<|channel|>commentary to=functions.fs_list_dirjson{body}"), CALLED),
        (format!("<|channel|>––commentary to=functions.fs_list_dir <|constrain|>json{body}"), CALLED),
        ("<|channel|>––final<|message|>Paris.<|return|>".to_owned(), "Paris. Whole"),
        (
            "<|channel|>commentary to=functions.web-browsing <|constrain|>json<|message|>{}<|call|>".to_owned(),
            "web-browsing{} Whole",
        ),
        // A bracket is missing: the tool gets the readable part and rejects it.
        (
            r#"<|channel|>commentary to=functions.fs_list_dir<|constrain|>json<|message|>{"path":{"a":{"b":1}}<|call|>"#
                .to_owned(),
            r#"fs.list_dir{"path":{"a":{"b":1}}} Whole"#,
        ),
        // Only the first of two calls: generation ends with it.
        (
            format!(
                "<|channel|>commentary to=functions.fs_list_dir{body}<|start|>assistant<|channel|>commentary to=functions.grep<|message|>{{\"pattern\":\"x\"}}<|call|>"
            ),
            CALLED,
        ),
        (
            "<|channel|>analysis<|message|>The user wants the capital.<|end|><|return|>".to_owned(),
            "[The user wants the capital.] Malformed",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(answer(&text, &tools()), expected, "{text}");
    }
}

#[test]
fn unparseable_answers_are_malformed_and_hidden() {
    let rows = [
        ("<|return|>", "Malformed"),
        ("Hello<|return|>", "Malformed"),
        ("<|channel|>analysis<|message|>Hm<|return|>", "[Hm] Malformed"),
        ("<|channel|>final<|return|>", "Malformed"),
        ("<|message|>Hello<|return|>", "[Hello] Malformed"),
        ("<|channel|>commentary <|constrain|>json<|message|>{\"other\":1}<|call|>", "Malformed"),
        ("<|channel|>final<|message|>{\"other\":1}<|call|>", "Malformed"),
        ("<|start|>user<|message|>Hi<|end|><|return|>", "Malformed"),
        ("{\"path\":\".\"} is what I say<|return|>", "Malformed"),
    ];
    for (text, expected) in rows {
        assert_eq!(answer(text, &tools()), expected, "{text}");
    }
}

/// Regression: such a call was dropped. Next to a valid call, the model's intent was lost with it.
#[test]
fn broken_arguments_are_kept_as_text() {
    let rows = [
        (
            "<|channel|>commentary to=functions.grep<|message|>not even close<|call|>",
            "grep\"not even close\" Whole",
        ),
        (
            "<|channel|>commentary<|message|>Look<|end|><|start|>assistant to=functions.grep<|channel|>commentary<|message|>[]<|call|>",
            "(Look) grep\"[]\" Whole",
        ),
        (
            r#"<|channel|>commentary to=functions.grep<|message|>{"pattern":<|end|><|start|>assistant to=functions.fs_list_dir<|channel|>commentary<|message|>{"path":"."}<|call|>"#,
            r#"grep"{\"pattern\":" fs.list_dir{"path":"."} Whole"#,
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(answer(text, &tools()), expected, "{text}");
    }
}

#[test]
fn broken_arguments_are_cut_between_characters() {
    let body = "🦊".repeat(5_000);
    let (out, _) = parse(
        &tokens(&format!("<|channel|>commentary to=functions.grep<|message|>{body}<|call|>")),
        &tools(),
    );
    let [ModelEvent::ToolCall(call)] = &out[..] else { panic!("{out:?}") };
    assert_eq!(call.arguments.as_str().map(str::len), Some(8 << 10));
}

#[test]
fn preamble_alone_is_malformed() {
    let text = "<|channel|>commentary<|message|>I look around.<|end|><|return|>";
    assert_eq!(answer(text, &tools()), "(I look around.) Malformed");
}

#[test]
fn answer_beginning_like_call_is_kept() {
    let call = r#"{"name":"grep","arguments":{"pattern":"x"}}"#;
    for reply in
        [format!("{call} is how you call it."), format!("{call} }}"), call[..call.len() - 1].to_owned()]
    {
        let text = format!("<|channel|>final<|message|>{reply}<|return|>");
        assert_eq!(answer(&text, &tools()), format!("{reply} Whole"));
    }
}

#[test]
fn cut_off_answer_keeps_text_and_drops_call() {
    let rows = [
        ("", "CutOff"),
        ("<|channel|>fin", "CutOff"),
        ("<|channel|>analysis<|message|>Hm", "[Hm] CutOff"),
        ("<|channel|>final<|message|>Hello th", "Hello th CutOff"),
        ("<|channel|>final<|message|>{\"path\":", "{\"path\": CutOff"),
        ("<|channel|>commentary to=functions.grep<|message|>{\"pattern\":\"x\"}", "CutOff"),
        ("<|channel|>commentary <|constrain|>json<|message|>{\"pattern\":\"x\"}", "CutOff"),
    ];
    for (text, expected) in rows {
        assert_eq!(answer(text, &tools()), expected, "{text}");
    }
    let mut fox = tokens("<|channel|>final<|message|>🦊");
    fox.pop();
    let (out, ending) = parse(&fox, &[]);
    assert_eq!(summary(&out, ending), "\u{fffd} CutOff");
}

#[test]
fn json_without_tools_is_an_answer() {
    assert_eq!(
        answer("<|channel|>final<|message|>{\"path\":\".\"}<|return|>", &[]),
        "{\"path\":\".\"} Whole"
    );
}

#[test]
fn answer_is_streamed() {
    let mut parser = Parser::new(&tools());
    let mut pieces = Vec::new();
    for (token, bytes) in tokens("<|channel|>final<|message|>One two three") {
        let mut out = Vec::new();
        parser.push(token, &bytes, &mut out);
        pieces.extend(out);
    }
    let words = ["One", " two", " three"].map(|word| ModelEvent::Text(word.to_owned()));
    assert_eq!(pieces, words);
}

/// Valid and invalid headers and bodies.
fn part() -> impl Strategy<Value = String> {
    let markers = MARKERS.map(|(marker, _)| marker).to_vec();
    prop_oneof![
        3 => prop::sample::select(markers).prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            "assistant", "user", "final", "analysis", "commentary", " to=functions.grep", "json", " ", "{\"pattern\":",
            "\"x\"}", "{", "}", "functions.fs_list_dir", "🦊", "\n",
        ])
        .prop_map(str::to_owned),
        1 => "[a-zäß ]{0,6}",
    ]
}

/// Splits the bytes of text tokens differently; markers stay, as each is one token.
fn split(tokens: &[(i32, Vec<u8>)], cuts: &[usize]) -> Vec<(i32, Vec<u8>)> {
    let mut cuts = cuts.iter().cycle();
    let mut split: Vec<(i32, Vec<u8>)> = Vec::new();
    for (token, bytes) in tokens {
        if *token >= crate::harmony::names::TEXT_TOKENS {
            split.push((*token, bytes.clone()));
            continue;
        }
        for byte in bytes {
            let begin = cuts.next().is_some_and(|cut| *cut == 0);
            match split.last_mut() {
                Some((0, last)) if !begin => last.push(*byte),
                _ => split.push((0, vec![*byte])),
            }
        }
    }
    split
}

proptest! {
    #[test]
    fn token_split_does_not_change_answer(
        parts in prop::collection::vec(part(), 0..24),
        cuts in prop::collection::vec(0..3usize, 1..16),
        offered in any::<bool>(),
    ) {
        let tools = if offered { tools() } else { Vec::new() };
        let tokens = tokens(&parts.concat());
        let (out, ending) = parse(&tokens, &tools);
        let (again, end) = parse(&split(&tokens, &cuts), &tools);
        prop_assert_eq!(summary(&out, ending), summary(&again, end));
    }

    #[test]
    fn tokens_never_panic_or_show_markup(
        tokens in prop::collection::vec(
            prop_oneof![
                (199_998..201_100i32).prop_map(|token| (token, b"<|marker|>".to_vec())),
                prop::sample::select(MARKERS.to_vec()).prop_map(|(text, id)| (id, text.into())),
                (any::<i32>(), prop::collection::vec(any::<u8>().prop_filter("no marker", |byte| *byte != b'|'), 0..8)),
            ],
            0..40,
        ),
        offered in any::<bool>(),
    ) {
        // Only special tokens have the text of a marker.
        let tools = if offered { tools() } else { Vec::new() };
        let (out, ending) = parse(&tokens, &tools);
        let reply: String = out.iter().map(|piece| match piece {
            ModelEvent::Text(piece) | ModelEvent::Preamble(piece) => piece.as_str(),
            ModelEvent::Reasoning(piece) => piece.for_template(),
            ModelEvent::ToolCall(call) => call.name.as_str(),
            other => panic!("{other:?}"),
        }).collect();
        prop_assert!(!reply.contains("<|"), "{}", summary(&out, ending));
    }
}
