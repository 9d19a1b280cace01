//! The generated files: the page's types and the protocol reference. They are written when `GENERATE` is set (see
//! `make generate`, which formats them too) and compared otherwise.

use crate::{meta::*, *};
use regex::Regex;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write, fs, path::PathBuf};
use ts_rs::{Config, TS, TypeVisitor};

const TYPES: &str = "ui/src/connection/wire.ts";
const REFERENCE: &str = "docs/reference/protocol.md";

/// One call of each method with its answer, and the params of each notification.
const EXAMPLES: &str = include_str!("../examples.json");

/// TypeScript declarations by name.
#[derive(Default)]
struct Declarations(BTreeMap<String, String>);

impl TypeVisitor for Declarations {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Primitives and containers have no file of their own.
        if T::output_path().is_some() {
            let config = config();
            let declaration = || format!("{}export {}", T::docs().unwrap_or_default(), T::decl(&config));
            // A comment of one line takes one line.
            let declaration = || declaration().replace("/**\n * ", "/** ").replace("\n */", " */");
            // An optional member is absent, never `null`.
            let optional = Regex::new(r"(\?: [^;\n]*?) \| null,").unwrap();
            let declaration = || optional.replace_all(&declaration(), "$1,").into_owned();
            self.0.entry(T::ident(&config)).or_insert_with(declaration);
        }
        if self.seen::<T>() {
            T::visit_dependencies(self);
            T::visit_generics(self);
        }
    }
}

impl Declarations {
    /// Returns whether a type is visited for the first time.
    fn seen<T: 'static + ?Sized>(&mut self) -> bool {
        let key = format!("\u{0}{}", std::any::type_name::<T>());
        self.0.insert(key, String::new()).is_none()
    }

    fn all() -> Self {
        let mut all = Self::default();
        method::visit_types(&mut all);
        all.visit::<UpdateParams>();
        all.visit::<Meta<UpdateMeta>>();
        all.visit::<PromptMeta>();
        all.visit::<OptionValueMeta>();
        all.visit::<openagents_core::approval::Form>();
        all.visit::<StateMeta>();
        all.visit::<NoticeMeta>();
        all.visit::<EditsMeta>();
        all.visit::<LoginMeta>();
        all.visit::<SpeechMeta>();
        all.visit::<PlanMeta>();
        all.visit::<EntryMeta>();
        all.visit::<ToolMeta>();
        all.visit::<TerminalMeta>();
        all.visit::<RoutingMeta>();
        all.visit::<SessionMeta>();
        all.visit::<ClientMeta>();
        all.visit::<ConnectionMeta>();
        all.visit::<ListMeta>();
        all.visit::<NewSessionMeta>();
        all.visit::<PromptParamsMeta>();
        all.visit::<EndMeta>();
        all.visit::<ModeMeta>();
        all.visit::<PermissionMeta>();
        all.visit::<openagents_core::trust::TrustQuestion>();
        all.visit::<openagents_core::approval::FrozenCommand>();
        // ts-rs cannot flatten an `Option`.
        let command = all.0.entry("ApprovalCommand".to_owned()).or_default();
        *command = format!("{} & Partial<FrozenCommand>;", command.trim_end_matches(';'));
        all.0.retain(|name, _| !name.starts_with('\u{0}'));
        all
    }
}

fn config() -> Config {
    Config::new().with_large_int("number")
}

/// The letters and digits of a text: what a formatter does not change.
fn essence(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Writes a generated file, or fails if it differs from `expected` in more than its format.
fn compare(path: &str, expected: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("GENERATE").is_some() {
        fs::write(&file, expected).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(essence(&found) == essence(expected), "{path} is out of date: run `make generate`");
}

#[test]
fn generated_types_are_current() {
    let mut text = String::from(
        "/** Generated from `crates/wire` by `make generate`: do not edit. */\n\
         import type { SessionConfigOption, SessionInfo, SessionUpdate } from '@agentclientprotocol/sdk/unstable';\n\n\
         export type { SessionConfigOption, SessionInfo, SessionUpdate };\n",
    );
    for declaration in Declarations::all().0.values() {
        // Formatters put the comment of a member on the line of its brace otherwise.
        write!(text, "\n{}\n", declaration.replace("\n/**\n * ", "\n/** ").replace("\n */\n", " */\n"))
            .unwrap();
    }
    compare(TYPES, &text);
}

#[test]
fn generated_reference_is_current() {
    let examples: Value = serde_json::from_str(EXAMPLES).unwrap();
    let mut text = include_str!("reference.md").to_owned();
    let headings = [("Methods", METHODS), ("Notifications", NOTIFICATIONS)];
    for (heading, rows) in headings {
        write!(text, "\n## {heading}\n").unwrap();
        for row in rows {
            section(&mut text, row, &examples[row.name]);
        }
    }
    text.push_str("\n## Types\n\nThe types of params and answers, in TypeScript.\n\n```ts\n");
    let types: Vec<_> = Declarations::all().0.into_values().collect();
    write!(text, "{}\n```\n", types.join("\n")).unwrap();
    compare(REFERENCE, &text);
}

fn section(text: &mut String, row: &MethodInfo, example: &Value) {
    let MethodInfo { name, scope, summary, errors, params, answer } = row;
    write!(text, "\n### `{name}`\n\n{summary}\n\n").unwrap();
    if let Some(scope) = scope {
        writeln!(text, "- Scope: `{}`", scope.as_str()).unwrap();
    }
    writeln!(text, "- Params: `{}`", params()).unwrap();
    if let Some(answer) = answer {
        writeln!(text, "- Answer: `{}`", answer()).unwrap();
    }
    for error in *errors {
        writeln!(text, "- Error {error}").unwrap();
    }
    let frame = match scope {
        Some(_) => json!({"jsonrpc": "2.0", "id": 7, "method": name, "params": example["params"]}),
        None => json!({"jsonrpc": "2.0", "method": name, "params": example["params"]}),
    };
    write!(text, "\n```json\n{frame}\n").unwrap();
    if !example["result"].is_null() {
        writeln!(text, "{}", json!({"jsonrpc": "2.0", "id": 7, "result": example["result"]})).unwrap();
    }
    text.push_str("```\n");
}

/// Every example is a call that the bridge accepts, and has no member that the type does not know.
#[test]
fn examples_match_their_types() {
    let examples: BTreeMap<String, Value> = serde_json::from_str(EXAMPLES).unwrap();
    for row in METHODS {
        let example = examples.get(row.name).unwrap_or_else(|| panic!("{} has no example", row.name));
        let call = Call::parse(row.name, example["params"].clone());
        assert!(call.is_ok(), "{}: {}", row.name, call.unwrap_err());
    }
    let known = |name: &String| METHODS.iter().chain(NOTIFICATIONS).any(|row| row.name == name);
    let unknown: Vec<_> = examples.keys().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    check::<methods::Attach>(&examples);
    check::<methods::Explore>(&examples);
    check::<methods::HistoryList>(&examples);
    check::<methods::HistoryRead>(&examples);
    check::<methods::SessionsSearch>(&examples);
    check::<methods::UsageReport>(&examples);
    check::<methods::DevicesList>(&examples);
    check::<methods::AgentsList>(&examples);
    check::<methods::ModelsList>(&examples);
    check::<methods::PrivacyList>(&examples);
    check::<methods::TrustAdd>(&examples);
    check::<methods::WorkspacesSuggest>(&examples);
    check::<methods::KeepVersions>(&examples);
    check::<methods::Inspect>(&examples);
    check::<methods::ApprovalsAnswer>(&examples);
}

fn check<M: Method>(examples: &BTreeMap<String, Value>) {
    let answer = &examples[M::NAME]["result"];
    let read: M::Answer =
        serde_json::from_value(answer.clone()).unwrap_or_else(|error| panic!("{}: {error}", M::NAME));
    let written = serde_json::to_value(read).unwrap();
    let unknown: Vec<_> =
        answer.as_object().unwrap().keys().filter(|key| written.get(key.as_str()).is_none()).collect();
    assert!(unknown.is_empty(), "{}: {unknown:?}", M::NAME);
}
