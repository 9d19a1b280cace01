use super::*;

#[test]
fn store_keeps_newest_decisions() {
    let (_home, store) = store();
    let decision = openagents_core::update::Decision {
        target: openagents_core::update::Target::Codex,
        inline: None,
        reason: "You asked Codex to do it.".to_owned(),
        instead_of: None,
    };
    for n in 0..1_003 {
        store.record_decision("s", &format!("{n} {}", "é".repeat(300)), &decision).unwrap();
    }
    let kept = store.decisions().unwrap();
    assert_eq!((kept.len(), kept[0].prompt.chars().count()), (1_000, 200));
    assert!(kept[0].prompt.starts_with("1002 ") && kept[999].prompt.starts_with("3 "));
    assert_eq!(kept[0].decision, decision);
}
