//! Questions of an agent: a form, or an address to open.

use super::host::{Host, Say, Scene};
use openagents_core::approval::{ApprovalSubject, Form, OptionKind};
use serde_json::{Value, json};

fn answered(scene: &Scene, prompt: &str) -> Value {
    serde_json::from_str(&scene.prompt(prompt).text).unwrap()
}

#[test]
fn form_is_answered_declined_or_cancelled() {
    let answers = json!({"db": "Postgres"});
    let rows = [
        (Say::Answers(answers.clone()), json!({"action": "accept", "content": answers})),
        (Say::Kind(OptionKind::RejectOnce), json!({"action": "decline"})),
        (Say::Id("no such option".to_owned()), json!({"action": "cancel"})),
    ];
    for (say, expected) in rows {
        let scene = Scene::answering([say]);
        assert_eq!(answered(&scene, "[[form]]"), expected);
        let asked = scene.host.asked.lock().unwrap();
        assert_eq!((asked[0].subject, &*asked[0].title), (ApprovalSubject::Question, "Which database?"));
        let form: Form = serde_json::from_value(asked[0].raw_input.clone().unwrap()).unwrap();
        assert_eq!(form.fields.iter().map(|field| &*field.name).collect::<Vec<_>>(), ["db", "note"]);
    }
}

#[test]
fn address_is_opened_by_the_user() {
    let scene = Scene::answering([Say::Kind(OptionKind::AllowOnce)]);
    assert_eq!(answered(&scene, "[[open https://example.com/login]]"), json!({"action": "accept"}));
    let scene = Scene::new();
    assert_eq!(answered(&scene, "[[open file:///etc/passwd]]"), json!({"action": "cancel"}));
    assert!(scene.host.asked.lock().unwrap().is_empty());
    let shown = scene.shown();
    assert!(shown.contains("asked something that can't be shown here: its link"), "{shown}");
}

#[test]
fn cancel_withdraws_a_question() {
    let scene = Scene::answering([Say::Nothing]);
    let outcome = scene.cancelled("[[form]]", Host::wait_for_question);
    assert_eq!(outcome.text, openagents_core::agent::CANCELLED);
}
