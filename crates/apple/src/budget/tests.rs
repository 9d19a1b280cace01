use super::*;
use crate::testing::{ours, spec};
use openagents_core::model::{AssistantMessage, CallRequest, ModelOptions};
use proptest::prelude::*;
use serde_json::json;

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

fn assistant(text: &str) -> Message {
    Message::Assistant(AssistantMessage { text: text.to_owned(), ..AssistantMessage::default() })
}

fn call(number: usize) -> Message {
    let call = CallRequest {
        id: number.to_string(),
        name: "search.grep".into(),
        arguments: json!({"pattern": "x"}),
    };
    Message::Assistant(AssistantMessage { calls: vec![call], ..AssistantMessage::default() })
}

fn result(number: usize, text: &str) -> Message {
    Message::Tool { call_id: number.to_string(), name: "search.grep".to_owned(), text: text.to_owned() }
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        instructions: "You are helpful.".to_owned(),
        messages,
        tools: ours(),
        ..ModelRequest::default()
    }
}

fn assert_fits(fitted: &Fitted) {
    let all = fitted.prompt_tokens + fitted.answer_tokens as usize;
    assert!(all <= CONTEXT as usize, "{all}");
}

#[test]
fn builtin_tools_are_offered_by_importance() {
    let fitted = fit(&request(vec![user("What is this?")]), &estimate);
    assert_fits(&fitted);
    let rows = fitted.tools.iter().map(|tool| format!("{:16} {:4}", tool.name, tool_cost(tool, &estimate)));
    insta::assert_snapshot!(format!(
        "{}\nleft out: {}",
        rows.collect::<Vec<_>>().join("\n"),
        fitted.left_out.join(", ")
    ));
}

#[test]
fn least_important_tools_are_dropped_first() {
    let many = (0..40).map(|number| {
        spec(
            &format!("other.tool{number}"),
            json!({"type": "object", "properties": {"some_argument": {"type": "string"}}}),
        )
    });
    let tools = many
        .chain([DELEGATE, CODEX_RUN, GENERATE].map(|name| spec(name, json!({"type": "object"}))))
        .collect();
    let fitted = fit(&ModelRequest { tools, ..request(vec![user("hello")]) }, &estimate);
    assert_fits(&fitted);
    let names: Vec<_> = fitted.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names[..4], [DELEGATE, CODEX_RUN, GENERATE, "other.tool0"]);
    assert_eq!(fitted.left_out.last().map(String::as_str), Some("other.tool39"));
    assert_eq!(
        fitted.tools[0].description, "Does something.",
        "all descriptions are shortened before a tool is dropped"
    );
}

#[test]
fn fitting_request_is_unchanged() {
    let messages = vec![user("a"), assistant("b"), user("c"), call(1), result(1, "d")];
    let fitted = fit(&request(messages.clone()), &estimate);
    assert_eq!((fitted.messages.clone(), fitted.instructions.as_str()), (messages, "You are helpful."));
    assert_fits(&fitted);
}

#[test]
fn older_turns_are_dropped_first() {
    let long = "word ".repeat(1_500);
    let messages = vec![
        user("first"),
        assistant(&long),
        user("second"),
        call(1),
        result(1, &long),
        assistant(&long),
        user("third"),
    ];
    let fitted = fit(&request(messages), &estimate);
    assert_eq!(fitted.messages, [user("third")]);
    assert_fits(&fitted);
}

#[test]
fn results_are_shortened_before_prompt() {
    let long = "word ".repeat(2_000);
    let messages = vec![user("the prompt"), call(1), result(1, &long), call(2), result(2, "short")];
    let fitted = fit(&request(messages), &estimate);
    assert_fits(&fitted);
    assert_eq!(fitted.messages.len(), 5);
    assert_eq!(fitted.messages[0], user("the prompt"));
    assert_eq!(fitted.messages[4], result(2, "short"));
    let Message::Tool { text, .. } = &fitted.messages[2] else { panic!() };
    assert!(text.ends_with("(Cut: there is no room for more.)"), "{text}");
}

#[test]
fn long_prompt_is_cut_with_a_note() {
    let fitted = fit(&request(vec![user(&"word ".repeat(100_000))]), &estimate);
    assert_fits(&fitted);
    let [Message::User { text }] = fitted.messages.as_slice() else { panic!() };
    assert!(text.starts_with("word word") && text.ends_with("(Cut: there is no room for more.)"));
    assert!(estimate(text) > 600, "it uses the available room: {}", estimate(text));
}

#[test]
fn turn_with_many_calls_keeps_prompt_and_newest() {
    let mut messages = vec![user("the prompt")];
    for number in 0..200 {
        messages.extend([call(number), result(number, &"text ".repeat(50))]);
    }
    let fitted = fit(&request(messages), &estimate);
    assert_fits(&fitted);
    assert_eq!(fitted.messages[0], user("the prompt"));
    assert!(matches!(&fitted.messages[1], Message::Assistant(_)), "no result without its call");
    assert!(matches!(fitted.messages.last(), Some(Message::Tool { call_id, .. }) if call_id == "199"));
}

#[test]
fn result_budget_shrinks_with_use() {
    let fitted = fit(&request(vec![user("hello")]), &estimate);
    assert!(fitted.room(0) > 1000, "{}", fitted.room(0));
    assert_eq!(fitted.room(100), fitted.room(0) - 100);
    assert_eq!(fitted.room(usize::MAX / 2), 0);
}

proptest! {
    // Fewer cases, since the texts are long.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_request_fits(
        instructions in "(?s).{0,3000}",
        texts in proptest::collection::vec(("[ups]", "(?s).{0,4000}"), 1..9),
        limit in proptest::option::of(any::<u32>()),
    ) {
        let mut messages: Vec<_> = texts.iter().enumerate().map(|(number, (kind, text))| match kind.as_str() {
            "u" => user(text),
            "p" => call(number),
            _ => result(number, text),
        }).collect();
        messages.push(user("last"));
        let options = ModelOptions { max_tokens: limit, ..ModelOptions::default() };
        let request = ModelRequest { instructions, messages, tools: ours(), options };
        let fitted = fit(&request, &estimate);
        assert_fits(&fitted);
        prop_assert!(!fitted.messages.is_empty());
        prop_assert_eq!(fitted.messages.last(), Some(&user("last")));
    }

    #[test]
    fn cut_text_fits(text in "(?s).{0,600}", room in 0usize..200) {
        let shortened = cut(&text, room, &estimate);
        prop_assert!(estimate(&shortened) <= room || estimate(&text) <= room);
    }
}

#[test]
fn estimate_is_never_below_tokenizer_count() {
    let vocabulary = tiktoken_rs::o200k_base().unwrap();
    let schemas = include_str!("../schema/corpus/mcp_tools.json");
    let specs = serde_json::to_string(&ours()).unwrap();
    let texts = [
        include_str!("tests.rs"),
        include_str!("../../../../LICENSE"),
        schemas,
        &specs,
        "Die Donaudampfschifffahrtsgesellschaft hatte im Übrigen keine Äpfel; straße für straße.",
        "この関数は何をしますか。ファイルを読んで、要約してください。",
        "이 함수는 무엇을 합니까? 这个函数是做什么的？ Что делает эта функция?",
        "🦊🦊🦊 emoji 👩‍👩‍👧‍👦 and zero\u{200b}width",
        "0x7fffdeadbeef 3.14159265358979 550e8400-e29b-41d4-a716-446655440000",
        "\t\t\tif (a&&b||!c) {return{...x,[y]:z}}\n\n\n",
    ];
    for text in texts {
        let (counted, estimated) = (vocabulary.encode_ordinary(text).len(), estimate(text));
        assert!(estimated >= counted, "{estimated} < {counted}: {text}");
        assert!(estimated <= 3 * counted, "{estimated} for {counted}: {text}");
    }
}

proptest! {
    #[test]
    fn estimate_of_joined_texts_is_bounded_by_sum(one in ".{0,40}", other in ".{0,40}") {
        let both = estimate(&format!("{one}{other}"));
        prop_assert!(both <= estimate(&one) + estimate(&other) + 1);
    }
}
