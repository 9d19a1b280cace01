//! Tests the conversion of real tools, of arguments, and of arbitrary JSON.

use super::*;
use crate::testing::{ours, spec};
use openagents_core::model::ToolSpec;
use proptest::prelude::*;
use serde_json::{Value, json};

fn published() -> Vec<ToolSpec> {
    serde_json::from_str(include_str!("corpus/mcp_tools.json")).unwrap()
}

#[test]
fn real_tools_are_dynamic_or_proxied() {
    let rows = ours().into_iter().chain(published()).map(|spec| {
        let tool = OfferedTool::new(&spec);
        let how = match &tool.arguments {
            Arguments::Dynamic(_) => "dynamic".to_owned(),
            Arguments::Proxy(reason) => format!("proxy    {reason}"),
        };
        format!("{:28} {how}", spec.name)
    });
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"));
}

#[test]
fn builtin_tools_are_dynamic() {
    for spec in ours() {
        let tool = OfferedTool::new(&spec);
        assert!(matches!(tool.arguments, Arguments::Dynamic(_)), "{}: {:?}", spec.name, tool.arguments);
    }
}

#[test]
fn dynamic_schemas_match_json_schemas() {
    let shown =
        ["edit_file", "fetch", "update_issue", "push_files", "query_database", "create_task", "get_figure"];
    let specs = published().into_iter().filter(|spec| shown.contains(&spec.name.as_str()));
    let rows = specs.map(|spec| {
        let json = OfferedTool::new(&spec).schema().to_json();
        format!("{}\n{}", spec.name, serde_json::to_string_pretty(&json).unwrap())
    });
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn proxy_has_one_text_parameter() {
    let tool = OfferedTool::new(&published().into_iter().find(|spec| spec.name == "get_pods").unwrap());
    insta::assert_snapshot!(format!("{}\n{:#}", tool.description, tool.schema().to_json()));
    assert!(tool.brief().description.ends_with(PROXY_NOTE));
}

#[test]
fn converted_schemas_round_trip() {
    for spec in ours().iter().chain(&published()) {
        let made = OfferedTool::new(spec).schema();
        let name = made.root.name().unwrap().to_owned();
        assert_eq!(DynamicSchema::from_json(&made.to_json(), &name).as_ref(), Ok(&made), "{}", spec.name);
    }
}

#[test]
fn converted_schemas_are_valid_json_schemas() {
    for spec in ours().iter().chain(&published()) {
        let tool = OfferedTool::new(spec);
        assert!(jsonschema::validator_for(&tool.schema().to_json()).is_ok(), "{}", spec.name);
    }
}

#[test]
fn arguments_match_schema_of_tool() {
    let tool =
        |name: &str| OfferedTool::new(&published().into_iter().find(|spec| spec.name == name).unwrap());
    let rows = [
        // A required nullable key is inserted.
        (
            "update_issue",
            json!({"owner": "a", "repo": "b", "issue_number": 1.0}),
            Ok(json!({"owner": "a", "repo": "b", "issue_number": 1.0, "assignee": null})),
        ),
        // An omitted optional key stays omitted, and an integer is written as an integer.
        (
            "create_task",
            json!({"content": "c", "priority": 2.0, "due_date": null}),
            Ok(json!({"content": "c", "priority": 2})),
        ),
        ("push_files", json!({"branch": "b", "files": [], "message": "m"}), Err("/files")),
        ("create_task", json!({"content": "c", "priority": 9}), Err("/priority")),
        ("create_task", json!({"content": ""}), Err("/content")),
        ("create_task", json!({}), Err("content")),
        ("create_task", json!("text"), Err("not a JSON object")),
        // One of two keys is required, which a dynamic schema can't express.
        ("send_message", json!({"text": "t", "channel": "c"}), Ok(json!({"text": "t", "channel": "c"}))),
        ("send_message", json!({"text": "t"}), Err("oneOf")),
        ("get_pods", json!({"json": r#"{"labels":{"app":"x"}}"#}), Ok(json!({"labels": {"app": "x"}}))),
        ("get_pods", json!({"json": "```json\n{}\n```"}), Ok(json!({}))),
        ("get_pods", json!({"json": {"namespace": "n"}}), Ok(json!({"namespace": "n"}))),
        ("get_pods", json!({"json": r#"{"labels":{"app":1}}"#}), Err("/labels/app")),
        ("get_pods", json!({"json": "{labels:"}), Err("json is not valid JSON")),
        ("get_pods", json!({"json": "[]"}), Err("json is not a JSON object")),
        ("get_pods", json!({"json": 7}), Err("json is not text")),
        ("get_pods", json!({"labels": {}}), Err("json is missing")),
        ("get_pods", json!(null), Err("not a JSON object")),
    ];
    for (name, reply, expected) in rows {
        match (tool(name).parse_arguments(reply.clone()), expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{name} {reply}"),
            (Err(error), Err(expected)) => {
                assert!(
                    error.starts_with("Invalid parameters: ") && error.contains(expected),
                    "{name} {error}"
                );
            }
            (read, expected) => panic!("{name} {reply}: {read:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn violations_are_shortened() {
    let tool =
        OfferedTool::new(&spec("t", json!({"type": "object", "properties": {"a": {"type": "integer"}}})));
    let error = tool.parse_arguments(json!({"a": "🦊".repeat(10_000)})).unwrap_err();
    assert!(error.len() < 400, "{error}");
}

#[test]
fn missing_and_endless_references_are_rejected() {
    let rows = [
        (json!({"$ref": "#"}), Reason::Recursion),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}), Reason::Recursion),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}),
            Reason::Recursion,
        ),
        (json!({"$ref": "#/$defs/b"}), Reason::Reference),
        (json!({"$ref": "other.json"}), Reason::Reference),
        (json!({"$ref": 7}), Reason::Reference),
        (json!({"type": "string"}), Reason::NoObject),
        (json!([]), Reason::NoObject),
        (json!({"type": "object", "properties": {"": {"type": "string"}}}), Reason::Key),
        (json!({"type": "object", "properties": {"a": {"type": "fish"}}}), Reason::NoSchema),
        (json!({"type": "object", "properties": {"a": {"type": [["string"], "null"]}}}), Reason::NoSchema),
        (json!({"type": "object", "properties": {"a": {"enum": []}}}), Reason::Nothing),
        (json!({"type": "object", "properties": {"a": {"type": "null"}}}), Reason::OnlyNull),
        (
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": ["string", "null"]}}}}),
            Reason::NullElement,
        ),
    ];
    for (schema, expected) in rows {
        assert_eq!(DynamicSchema::from_json(&schema, "t").unwrap_err().reason, expected, "{schema}");
    }
}

#[test]
fn endless_schema_can_be_validated() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
        json!({"type": "object", "allOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#"}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
    ] {
        let tool = OfferedTool::new(&spec("t", schema.clone()));
        let _ = tool.parse_arguments(tool.to_model_arguments(&json!({"a": {"a": {}}})));
    }
}

#[test]
fn contradictory_bounds_are_ignored() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer", "minimum": 3, "maximum": 1},
        "l": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 1},
    }});
    let made = DynamicSchema::from_json(&schema, "t").unwrap().to_json();
    assert_eq!(made["properties"]["n"], json!({"type": "integer"}));
    assert_eq!(made["properties"]["l"], json!({"type": "array", "items": {"type": "string"}}));
}

#[test]
fn framework_schemas_become_json_schemas() {
    let written = json!({
        "title": "WeatherArguments", "type": "object", "x-order": ["city", "days"],
        "properties": {"days": {"type": "integer"}, "city": {"type": "string", "description": "Where"}},
        "required": ["city"], "additionalProperties": false,
    });
    let plain = from_framework(&written);
    let keys: Vec<_> = plain["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["city", "days"]);
    assert!(plain.get("x-order").is_none());
    assert!(DynamicSchema::from_json(&plain, "weather").is_ok());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z#/$]{0,8}".prop_map(Value::from),
        prop_oneof![
            Just("object"),
            Just("string"),
            Just("array"),
            Just("null"),
            Just("#/properties/a"),
            Just("#/$defs/a")
        ]
        .prop_map(Value::from),
    ];
    let key = prop_oneof![
        "[a-z]{0,3}",
        proptest::sample::select(vec![
            "type",
            "properties",
            "items",
            "$ref",
            "anyOf",
            "oneOf",
            "allOf",
            "enum",
            "const",
            "required",
            "$defs",
            "additionalProperties",
            "minimum",
            "maximum",
            "minItems",
            "description",
            "title",
            "x-order",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_node(depth: u32) -> BoxedStrategy<Node> {
    let leaf = prop_oneof![
        Just(Node::String),
        Just(Node::Boolean),
        (proptest::option::of(-9i64..0), proptest::option::of(0i64..9))
            .prop_map(|(minimum, maximum)| Node::Integer { minimum, maximum }),
        proptest::option::of(-9f64..9.0).prop_map(|minimum| Node::Number { minimum, maximum: None }),
        proptest::collection::btree_set("[a-z]{1,4}", 1..4)
            .prop_map(|choices| Node::Enum { name: String::new(), choices: choices.into_iter().collect() }),
    ];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), proptest::option::of(0usize..3)).prop_map(|(items, minimum)| Node::Array {
                items: Box::new(items),
                minimum,
                maximum: None
            }),
            proptest::collection::btree_map(
                "[a-z]{1,4}",
                (inner, any_presence(), proptest::option::of("[a-z]{1,9}")),
                1..4
            )
            .prop_map(|members| Node::Object {
                name: String::new(),
                description: None,
                properties: members
                    .into_iter()
                    .map(|(name, (schema, presence, description))| Property {
                        name,
                        description,
                        schema,
                        presence
                    })
                    .collect(),
            }),
        ]
    })
    .boxed()
}

fn any_presence() -> impl Strategy<Value = Presence> {
    prop_oneof![Just(Presence::Required), Just(Presence::Optional), Just(Presence::Nullable)]
}

/// Gives every type a unique name.
fn numbered(node: &mut Node, next: &mut usize) {
    if let Node::Object { name, .. } | Node::AnyOf { name, .. } | Node::Enum { name, .. } = node {
        *name = format!("type{next}");
        *next += 1;
    }
    match node {
        Node::Object { properties, .. } => {
            properties.iter_mut().for_each(|one| numbered(&mut one.schema, next))
        }
        Node::Array { items, .. } => numbered(items, next),
        _ => {}
    }
}

proptest! {
    #[test]
    fn json_never_panics(schema in any_json(), reply in any_json()) {
        let tool = OfferedTool::new(&spec("any", schema.clone()));
        let _ = tool.parse_arguments(reply);
        let _ = tool.brief().schema().to_json();
        let _ = from_framework(&schema);
    }

    #[test]
    fn any_dynamic_schema_round_trips(mut node in any_node(4)) {
        numbered(&mut node, &mut 0);
        let root = match node {
            object @ Node::Object { .. } => object,
            other => Node::Object {
                name: "root".to_owned(),
                description: None,
                properties: vec![Property { name: "p".to_owned(), description: None, schema: other, presence: Presence::Required }],
            },
        };
        let schema = DynamicSchema { root, definitions: Vec::new() };
        prop_assert_eq!(DynamicSchema::from_json(&schema.to_json(), "root").unwrap(), schema);
    }
}
