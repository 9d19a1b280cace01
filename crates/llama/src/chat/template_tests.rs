use super::{
    AnswerParser, ChatError, ChatFormat, Ending, TemplateFormat, Vocabulary, arguments, chatml,
    nasty::NASTY,
    tagged::{TaggedParser, Thoughts},
};
use openagents_core::model::{
    AssistantMessage, CallRequest, Message, ModelEvent, ModelRequest, Reasoning, THOUGHT_TAGS, ToolSpec,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Tools in the syntax of Hermes and Qwen.
const TOOLS: &str = r#"{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- '<tools>' }}
    {%- for tool in tools %}
        {{- '\n' }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '\n</tools><|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'assistant' and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content.strip() + '<|im_end|>\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant' }}
        {%- if message.content %}
            {{- '\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- set tool_call = tool_call.function %}
            {{- '\n<tool_call>\n{"name": "' + tool_call.name + '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == 'tool' %}
        {{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}"#;

/// A template that supports only user and assistant.
const STRICT: &str = r"{{ bos_token }}{% for message in messages %}
{% if message['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Conversation roles must alternate') }}
{% endif %}
{{ '[' + message['role'] | upper + '] ' + message['content'] | trim + eos_token }}
{% endfor %}
{% if add_generation_prompt %}{{ '[ASSISTANT]' }}{% endif %}";

/// A vocabulary of characters: those of markup are negative.
#[derive(Debug)]
struct Letters;

impl Vocabulary for Letters {
    fn markup(&self, text: &str) -> Vec<i32> {
        text.chars().map(|letter| -(letter as i32)).collect()
    }
    fn text(&self, text: &str) -> Vec<i32> {
        text.chars().map(|letter| letter as i32).collect()
    }
    fn special(&self, _: &str) -> Option<i32> {
        None
    }
    fn bytes(&self, token: i32) -> Vec<u8> {
        char::from_u32(token.unsigned_abs()).unwrap().to_string().into_bytes()
    }
    fn ends_answer(&self, _: i32) -> bool {
        false
    }
}

/// The prompt, with text from the user, tools and models between `⟦` and `⟧`.
fn prompt(format: &TemplateFormat, request: &ModelRequest) -> String {
    let mut prompt = String::new();
    let mut reply = false;
    for token in format.render(request, &Letters).unwrap() {
        if (token > 0) != reply {
            reply = token > 0;
            prompt.push(if reply { '⟦' } else { '⟧' });
        }
        prompt.push(char::from_u32(token.unsigned_abs()).unwrap());
    }
    prompt
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

fn request(text: &str) -> ModelRequest {
    let answer = AssistantMessage {
        reasoning: Reasoning::new(text),
        text: text.to_owned(),
        calls: vec![CallRequest {
            id: "1".into(),
            name: "fs.list_dir".into(),
            arguments: json!({"path": text}),
        }],
        ..AssistantMessage::default()
    };
    ModelRequest {
        instructions: text.to_owned(),
        messages: vec![
            user(text),
            Message::Assistant(answer),
            Message::Tool { call_id: "1".into(), name: "fs.list_dir".into(), text: text.to_owned() },
        ],
        tools: vec![ToolSpec {
            name: "fs.list_dir".into(),
            description: text.to_owned(),
            parameters: json!({"type": "object", "properties": {text: {"type": "string", "enum": [text]}}}),
        }],
        ..ModelRequest::default()
    }
}

#[test]
fn templates_of_files_render() {
    insta::assert_snapshot!("chatml", prompt(&chatml(), &request("Hi!")));
    let tools = TemplateFormat::new(TOOLS, "", "<|im_end|>").unwrap();
    assert!(tools.tools());
    insta::assert_snapshot!("tools", prompt(&tools, &request("Hi!")));
    let strict = TemplateFormat::new(STRICT, "<s>", "</s>").unwrap();
    assert!(!strict.tools());
    insta::assert_snapshot!("strict", prompt(&strict, &request("Hi!")));
}

#[test]
fn text_never_becomes_markup() {
    for source in [TOOLS, STRICT] {
        let format = TemplateFormat::new(source, "<s>", "</s>").unwrap();
        let markup = |text: &str| {
            let tokens = format.render(&request(text), &Letters).unwrap();
            let markup = tokens.into_iter().filter(|token| *token < 0);
            String::from_utf8(markup.flat_map(|token| Letters.bytes(token)).collect()).unwrap()
        };
        let expected = markup("!");
        for text in NASTY {
            assert_eq!(markup(text), expected, "{text}");
        }
    }
}

#[test]
fn unusable_templates_are_rejected() {
    let rows = [
        ("{{ messages[0].content | upper }}", "it omits or changes messages"),
        ("nothing at all", "it omits or changes messages"),
        ("{% for m in messages | reverse %}{{ m.content }}{% endfor %}", "it omits or changes messages"),
        ("{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}", "it omits or changes messages"),
        ("{% if", "unexpected end of input, expected expression (line 1)"),
        ("{{ raise_exception('Not for you') }}", "Not for you (line 1)"),
        (
            "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}",
            "engine ran out of fuel (line 1)",
        ),
        ("{% for a in range(9999) %}{{ 'x' * 100000 }}{% endfor %}", "its prompt is too long"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion limit exceeded (line 1)"),
    ];
    for (source, reason) in rows {
        let refused = TemplateFormat::new(source, "", "").unwrap_err();
        assert_eq!(refused, ChatError::Template(reason.to_owned()), "{source}");
    }
    assert!(TemplateFormat::new(&" ".repeat(300_000), "", "").is_err());
    assert!(TemplateFormat::new(&"{% if true %}".repeat(10_000), "", "").is_err());
    assert!(TemplateFormat::new(&format!("{{{{ {}", "(".repeat(100_000)), "", "").is_err());
}

/// The parsed answer: `text`, `[reasoning]`, `name{arguments}`, and the ending.
fn parse_answer(format: &TemplateFormat, tokens: &[&[u8]]) -> String {
    let mut parser = format.parser(&request("x"));
    let mut out = Vec::new();
    let (end, tokens) = match tokens {
        [tokens @ .., b"<|im_end|>"] => (Some(0), tokens),
        tokens => (None, tokens),
    };
    for bytes in tokens {
        parser.push(0, bytes, &mut out);
    }
    let ending = parser.finish(end, &mut out);
    summary(&out, ending)
}

/// Parses an answer with one token per character.
fn read_slowly(format: &TemplateFormat, answer: &str) -> String {
    let mut tokens: Vec<&[u8]> = answer.as_bytes().chunks(1).collect();
    tokens.push(b"<|im_end|>");
    parse_answer(format, &tokens)
}

fn summary(out: &[ModelEvent], ending: Ending) -> String {
    let mut output = String::new();
    let mut thinking = false;
    for piece in out {
        let thinks = matches!(piece, ModelEvent::Reasoning(_));
        if thinks != thinking {
            output.push(if thinks { '[' } else { ']' });
            thinking = thinks;
        }
        match piece {
            ModelEvent::Text(text) | ModelEvent::Preamble(text) => output.push_str(text),
            ModelEvent::Reasoning(text) => output.push_str(text.for_template()),
            ModelEvent::ToolCall(call) => output.push_str(&format!(" {}{}", call.name, call.arguments)),
            other => panic!("{other:?}"),
        }
    }
    format!("{output} {ending:?}")
}

#[test]
fn answers_are_parsed() {
    let tools = TemplateFormat::new(TOOLS, "", "<|im_end|>").unwrap();
    let thinks = TemplateFormat::new(&format!("{TOOLS}{{{{- '<think>\\n' }}}}"), "", "<|im_end|>").unwrap();
    let call = r#"<tool_call>{"name": "fs.list_dir", "arguments": {"path": "."}}</tool_call>"#;
    let end: &[u8] = b"<|im_end|>";
    let rows: [(&TemplateFormat, &[&[u8]], &str); 14] = [
        (&tools, &[b"Hello ", b"\xf0\x9f", b"\xa6\x8a", end], "Hello 🦊 Whole"),
        (&tools, &[b"Hello"], "Hello CutOff"),
        (&tools, &[b"a < b <th", b"in>", end], "a < b <thin> Whole"),
        (&tools, &[b"<think>", b"Hm", b"</think>", b"\n\nHi", end], "[Hm]Hi Whole"),
        (&tools, &[b"<thi", b"nk>H", b"m</thin", b"k>Hi", end], "[Hm]Hi Whole"),
        (&tools, &[b"<think>Hm", end], "[Hm Malformed"),
        (&thinks, &[b"Hm</think>Hi", end], "[Hm]Hi Whole"),
        (&tools, &[call.as_bytes(), end], r#" fs.list_dir{"path":"."} Whole"#),
        (&tools, &[b"I look.\n", call.as_bytes(), end], "I look.\n fs.list_dir{\"path\":\".\"} Whole"),
        (&tools, &[&call.as_bytes()[..call.len() - 12], end], r#" fs.list_dir{"path":"."} Whole"#),
        (&tools, &[&call.as_bytes()[..call.len() - 12]], " CutOff"),
        (&tools, &[b"<tool_call>nonsense</tool_call>", end], " Malformed"),
        (&chatml(), &[call.as_bytes(), end], &format!("{call} Whole")),
        (&tools, &[end], " Malformed"),
    ];
    for (format, tokens, expected) in rows {
        let shown: Vec<_> = tokens.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        assert_eq!(parse_answer(format, tokens), expected, "{shown:?}");
    }
}

#[test]
fn thoughts_in_other_tags_are_hidden() {
    let format = TemplateFormat::new(TOOLS, "", "<|im_end|>").unwrap();
    for (opening, closing) in THOUGHT_TAGS {
        let answer = format!("\n{opening}Hm{closing}\n\nHi");
        assert_eq!(read_slowly(&format, &answer), "[Hm]Hi Whole", "{answer}");
        let tokens: [&[u8]; 5] = [opening.as_bytes(), b"Hm", closing.as_bytes(), b"Hi", b"<|im_end|>"];
        assert_eq!(parse_answer(&format, &tokens), "[Hm]Hi Whole", "{answer}");
        let begun = TemplateFormat::new(&format!("{TOOLS}{{{{- '{opening}\n' }}}}"), "", "").unwrap();
        assert_eq!(read_slowly(&begun, &format!("Hm{closing}Hi")), "[Hm]Hi Whole", "{answer}");
    }
}

#[test]
fn thought_without_opening_tag_is_hidden() {
    let mentions =
        |closing: &str| TemplateFormat::new(&format!("{TOOLS}{{# {closing} #}}"), "", "<|im_end|>").unwrap();
    for (_, closing) in THOUGHT_TAGS {
        let answer = format!("Hm, <tool_call> perhaps?{closing}\n\nHi");
        assert_eq!(read_slowly(&mentions(closing), &answer), "[Hm, <tool_call> perhaps?]Hi Whole");
    }
    let format = mentions("</think>");
    let rows = [
        ("Hi", "Hi Whole"),
        ("</think>Hi", "Hi Whole"),
        ("<think>Hm</think>`</think>` ends it", "[Hm]`</think>` ends it Whole"),
        ("Hi</reasoning>", "Hi</reasoning> Whole"),
        (r#"<tool_call>{"name": "x"}</tool_call>"#, " x{} Whole"),
    ];
    for (answer, expected) in rows {
        assert_eq!(read_slowly(&format, answer), expected, "{answer}");
    }
    // Long text is emitted early.
    let mut parser = format.parser(&request("x"));
    let mut out = Vec::new();
    parser.push(0, "Long. ".repeat(10_000).as_bytes(), &mut out);
    assert!(matches!(&out[..], [ModelEvent::Text(_)]), "{out:?}");
    // Text after reasoning that is already in the prompt is emitted at once.
    let over = format!("{TOOLS}{{{{- '<think>\n\n</think>\n\n' }}}}");
    let mut parser = TemplateFormat::new(&over, "", "").unwrap().parser(&request("x"));
    let mut out = Vec::new();
    parser.push(0, b"Hi", &mut out);
    assert_eq!(out, [ModelEvent::Text("Hi".to_owned())]);
}

#[test]
fn answer_about_tags_is_kept_whole() {
    let format = TemplateFormat::new(TOOLS, "", "<|im_end|>").unwrap();
    let answers = [
        "The `<think>` tag begins a thought, and `</think>` ends it.",
        "A [THINK] and a <reasoning> too.",
        "The `<tool_call>` tag begins a call.",
        "Write <tool_call>{your call}</tool_call> there.",
        "Write <tool_call>\n{\"nome\": 1}\n</tool_call> there.",
        "It ends with <tool_call>",
        "It ends with <tool_call>{",
    ];
    for answer in answers {
        assert_eq!(read_slowly(&format, answer), format!("{answer} Whole"));
    }
    // An invalid call before any text is text if more text follows, or else malformed.
    let unread = "<tool_call>nonsense</tool_call>";
    assert_eq!(read_slowly(&format, unread), " Malformed");
    assert_eq!(read_slowly(&format, &format!("{unread} is wrong.")), format!("{unread} is wrong. Whole"));
    // A truncated answer is shown, except for an incomplete call.
    let cut_off = |answer: &str| parse_answer(&format, &[answer.as_bytes()]);
    assert_eq!(cut_off("<tool_call> begins"), "<tool_call> begins CutOff");
    assert_eq!(cut_off("Look: <tool_call>{\"name\": "), "Look:  CutOff");
}

#[test]
fn unlisted_end_token_is_hidden() {
    let format = TemplateFormat::new(TOOLS, "", "").unwrap();
    let mut parser = format.parser(&request("x"));
    let mut out = Vec::new();
    parser.push(0, b"Hi", &mut out);
    // The text of this token is irrelevant.
    assert_eq!(parser.finish(Some(7), &mut out), Ending::Whole);
    assert_eq!(out, [ModelEvent::Text("Hi".to_owned())]);
}

proptest! {
    #[test]
    fn token_split_does_not_change_answer(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "<think>", "</think>", "<tool_call>", "</tool_call>", "<", ">", "<t", "hink>", "/", "{\"name\":\"x\"}", " ",
                "\n", "word", "🦊", "{",
            ]),
            0..16,
        ),
        cuts in prop::collection::vec(1..4usize, 1..16),
        begun in any::<bool>(),
        closes in any::<bool>(),
        ended in any::<bool>(),
    ) {
        let thoughts = Thoughts {
            begun: begun.then_some("</think>"),
            closings: if closes { vec!["</think>"] } else { Vec::new() },
        };
        let tools = request("x").tools;
        let whole = parts.concat();
        let read = |pieces: Vec<&[u8]>| {
            let mut parser = TaggedParser::new(&tools, &thoughts, ["", "</s>"]);
            let mut out = Vec::new();
            for piece in pieces {
                parser.push(0, piece, &mut out);
            }
            let ending = parser.finish(ended.then_some(1), &mut out);
            summary(&out, ending)
        };
        let mut pieces = Vec::new();
        let mut rest = whole.as_bytes();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(read(pieces), read(vec![whole.as_bytes()]));
    }

    #[test]
    fn templates_never_panic(source in r"(\{%|%\}|\{\{|\}\}|if|for|in|messages|content|\||tojson|[a-z'.()]| ){0,30}") {
        let _ = TemplateFormat::new(&source, "<s>", "</s>");
    }

    #[test]
    fn arguments_never_panic(text in r#"[\[\]{}":,a1\\ ]{0,24}"#) {
        if let Some(arguments) = arguments::parse(&text) {
            prop_assert!(Value::Object(arguments).is_object());
        }
    }
}
