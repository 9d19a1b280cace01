//! Files that cannot be loaded and messages that do not fit: one sentence each, and the engine keeps working.

use crate::support::{
    answer, ask, gpt_oss, helper, load, other_architecture, small_model, try_answer, try_load, with_template,
};
use openagents_core::model::ModelError;
use openagents_llama::Engine;
use std::fs;

#[test]
fn bad_files_are_explained_and_good_one_loads() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.gguf");
    fs::write(&text, "These are my notes.\n").unwrap();
    let short = folder.path().join("short.gguf");
    let bytes = fs::read(gpt_oss()).unwrap();
    fs::write(&short, &bytes[..bytes.len() / 2]).unwrap();
    let missing = folder.path().join("missing.gguf");
    let other = other_architecture(folder.path());
    let rows =
        [(&text, "not a GGUF file"), (&short, "cut off"), (&missing, "missing.gguf"), (&other, "gpt-new")];
    let engine = helper();
    load(&engine, &gpt_oss(), 512);
    for (path, says) in rows {
        match try_load(&engine, path, 512) {
            Err(ModelError::Load(sentence)) => {
                assert!(sentence.contains(says) && sentence.lines().count() == 1, "{sentence}");
            }
            other => panic!("{}: {other:?}", path.display()),
        }
        assert_eq!(engine.loaded(), None);
    }
    let refused = try_answer(&engine, &ask("hello", 9)).unwrap_err();
    assert!(refused.to_string().contains("no model is loaded"), "{refused}");
    load(&engine, &gpt_oss(), 512);
    assert!(answer(&engine, &ask("hello", 100)).text.contains("friend"));
}

#[test]
fn overflow_reports_needed_and_context() {
    let engine = helper();
    load(&engine, &small_model(), 512);
    match try_answer(&engine, &ask(&"too many words ".repeat(400), 9)) {
        Err(ModelError::ContextOverflow { needed, context }) => {
            assert!(needed > 1_000 && context == 512, "{needed} {context}");
        }
        other => panic!("{other:?}"),
    }
    assert!(answer(&engine, &ask("hello", 5)).usage.tokens > 0);
}

#[test]
fn doubling_template_is_stopped_by_memory_limit() {
    let folder = tempfile::tempdir().unwrap();
    let doubles =
        "{% set n = namespace(x='oh no oh') %}{% for i in range(28) %}{% set n.x = n.x ~ n.x %}{% endfor %}";
    let says = "{% for message in messages %}{{ message.content }}{% endfor %}";
    let path = with_template(folder.path(), &format!("{doubles}{says}"));
    let engine = helper();
    let refused = try_load(&engine, &path, 512).unwrap_err();
    assert!(!refused.to_string().contains("\n"), "{refused}");
    assert_eq!(engine.loaded(), None);
    load(&engine, &small_model(), 512);
    assert!(answer(&engine, &ask("hello", 5)).usage.tokens > 0);
}
