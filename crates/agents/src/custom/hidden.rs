//! Hides the values of variables and headers of custom agents: clients see only the names, since values may be secrets.

use openagents_core::agent::{CustomAgent, CustomKind};
use std::collections::BTreeMap;

/// Placeholder for a hidden value. When a client sends it back, it means the stored value.
const HIDDEN: &str = "…";

pub(crate) fn hidden(agent: &CustomAgent) -> CustomAgent {
    let mut agent = agent.clone();
    values(&mut agent.kind).values_mut().for_each(|value| HIDDEN.clone_into(value));
    agent
}

/// Replaces placeholders with the stored values. Fails with an error sentence.
pub(crate) fn restored(mut agent: CustomAgent, kept: Option<&CustomAgent>) -> Result<CustomAgent, String> {
    let is_program = |agent: &CustomAgent| matches!(agent.kind, CustomKind::Acp { .. });
    let same_kind = kept.filter(|kept| is_program(kept) == is_program(&agent)).cloned();
    let kept = same_kind.map(|mut kept| std::mem::take(values(&mut kept.kind))).unwrap_or_default();
    for (name, value) in values(&mut agent.kind).iter_mut().filter(|(_, value)| *value == HIDDEN) {
        let known = kept.get(name).ok_or_else(|| {
            format!("{HIDDEN} stands for a value that is kept, and none is kept for {name}; give its value")
        })?;
        value.clone_from(known);
    }
    Ok(agent)
}

fn values(kind: &mut CustomKind) -> &mut BTreeMap<String, String> {
    match kind {
        CustomKind::Acp { env, .. } => env,
        CustomKind::Openai { headers, .. } => headers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn program(env: Value) -> CustomAgent {
        serde_json::from_value(json!({"id": "a", "kind": "acp", "command": "x", "env": env})).unwrap()
    }

    fn model(headers: Value) -> CustomAgent {
        let agent =
            json!({"id": "a", "kind": "openai", "baseUrl": "http://[::1]", "model": "m", "headers": headers});
        serde_json::from_value(agent).unwrap()
    }

    #[test]
    fn placeholders_are_replaced_by_stored_values() {
        for kept in [program(json!({"A": "one", "B": "two"})), model(json!({"A": "one", "B": "two"}))] {
            let shown = hidden(&kept);
            assert!(!serde_json::to_string(&shown).unwrap().contains("one"));
            assert_eq!(restored(shown, Some(&kept)), Ok(kept));
        }
        let kept = program(json!({"A": "one", "B": "two"}));
        let changed = restored(program(json!({"A": "…", "C": "three"})), Some(&kept));
        assert_eq!(changed, Ok(program(json!({"A": "one", "C": "three"}))));
    }

    #[test]
    fn unknown_placeholders_are_refused_by_name() {
        let sent = program(json!({"TOKEN": "…"}));
        for kept in [None, Some(&program(json!({"A": "one"}))), Some(&model(json!({"TOKEN": "one"})))] {
            let refusal = restored(sent.clone(), kept).unwrap_err();
            assert!(refusal.contains("TOKEN"), "{refusal}");
        }
    }
}
