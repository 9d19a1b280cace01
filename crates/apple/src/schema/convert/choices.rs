//! Alternatives: `anyOf`, `oneOf`, `enum`, `const`, and several types.

use super::{
    Conversion, Converter, Found, fail, found,
    keywords::{titled, whole},
};
use crate::schema::{Inexpressible, Node, Reason};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

impl Converter<'_> {
    /// Converts `anyOf` and `oneOf`; `None` if absent, or if they only narrow the properties.
    pub(super) fn choices(
        &mut self,
        members: &Map<String, Value>,
        at: &str,
        name: &str,
        depth: usize,
    ) -> Result<Option<Found>, Inexpressible> {
        let Some((key, variants)) =
            ["anyOf", "oneOf"].iter().find_map(|key| Some((*key, members.get(*key)?.as_array()?)))
        else {
            return Ok(None);
        };
        let narrows = |variant: &Value| {
            variant.as_object().is_some_and(|variant| {
                variant.keys().all(|key| ["required", "not", "title", "description"].contains(&key.as_str()))
            })
        };
        if members.contains_key("properties") {
            return if variants.iter().all(narrows) { Ok(None) } else { fail(at, Reason::Combined) };
        }
        let is_null = |variant: &Value| variant.get("type").and_then(Value::as_str) == Some("null");
        let kept: Vec<_> = variants.iter().enumerate().filter(|(_, variant)| !is_null(variant)).collect();
        let mut nullable = kept.len() < variants.len();
        let constants =
            kept.iter().map(|(_, variant)| variant.get("const").filter(|value| value.is_string()));
        if let Some(constants) = constants.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()) {
            let constants: Vec<_> = constants.into_iter().cloned().collect();
            let found = self.constants(&constants, at, &titled(members, name))?;
            return Ok(Some(Found { nullable, ..found }));
        }
        // The type takes its name before its parts do.
        let several = kept.len() > 1;
        let own = if several { self.name(&titled(members, name)) } else { name.to_owned() };
        let mut parts = Vec::new();
        for (number, variant) in kept {
            let part = if several { format!("{own}_{}", number + 1) } else { own.clone() };
            let found = self.node(variant, &format!("{at}/{key}/{number}"), &part, depth + 1)?;
            nullable |= found.nullable;
            parts.push(found);
        }
        let all = match parts.pop() {
            None => return fail(at, if nullable { Reason::OnlyNull } else { Reason::Nothing }),
            Some(only) if parts.is_empty() => only,
            Some(last) => {
                let choices = parts.into_iter().chain([last]).map(|part| part.node).collect();
                found(Node::AnyOf { name: own, description: None, choices })
            }
        };
        Ok(Some(Found { nullable, ..all }))
    }

    pub(super) fn constants(&mut self, constants: &[Value], at: &str, name: &str) -> Conversion {
        let said: Vec<_> = constants.iter().filter(|value| !value.is_null()).collect();
        let nullable = said.len() < constants.len();
        if said.is_empty() {
            return fail(at, if nullable { Reason::OnlyNull } else { Reason::Nothing });
        }
        let list = said.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let note = if said.len() == 1 { format!("always {list}") } else { format!("one of {list}") };
        let texts: Option<Vec<_>> = said.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        let (node, note) = if let Some(choices) = texts {
            let mut seen = BTreeSet::new();
            let choices = choices.into_iter().filter(|choice| seen.insert(choice.clone())).collect();
            (Node::Enum { name: self.name(name), choices }, None)
        } else if let Some(numbers) = said.iter().map(|value| whole(value)).collect::<Option<Vec<_>>>() {
            let (minimum, maximum) = (numbers.iter().min().copied(), numbers.iter().max().copied());
            (Node::Integer { minimum, maximum }, Some(note))
        } else if said.iter().all(|value| value.is_number()) {
            (Node::Number { minimum: None, maximum: None }, Some(note))
        } else if said.iter().all(|value| value.is_boolean()) {
            (Node::Boolean, (said.len() == 1).then_some(note))
        } else {
            return fail(at, Reason::MixedConstants);
        };
        Ok(Found { nullable, note, ..found(node) })
    }

    /// Converts `"type": ["string", "null"]` and similar.
    pub(super) fn one_of_types(
        &mut self,
        members: &Map<String, Value>,
        kinds: &[Value],
        at: &str,
        name: &str,
        depth: usize,
    ) -> Conversion {
        let said: Vec<_> = kinds.iter().filter(|kind| kind.as_str() != Some("null")).collect();
        let nullable = said.len() < kinds.len();
        // Integers are numbers, so `integer` next to `number` is redundant.
        let has_number = said.iter().any(|kind| kind.as_str() == Some("number"));
        let said: Vec<_> =
            said.into_iter().filter(|kind| !has_number || kind.as_str() != Some("integer")).collect();
        if kinds.iter().any(Value::is_array) {
            return fail(at, Reason::NoSchema);
        }
        let mut as_type = |kind: &Value, part: &str| {
            let mut one = members.clone();
            one.insert("type".to_owned(), kind.clone());
            self.typed(&one, at, part, depth + 1)
        };
        match said.as_slice() {
            [] => fail(at, if nullable { Reason::OnlyNull } else { Reason::NoSchema }),
            [one] => Ok(Found { nullable, ..as_type(one, name)? }),
            several => {
                let mut choices = Vec::new();
                let mut note = None;
                for kind in several {
                    let found = as_type(kind, &format!("{name}_{}", kind.as_str().unwrap_or_default()))?;
                    note = note.or(found.note);
                    choices.push(found.node);
                }
                let node = Node::AnyOf { name: self.name(name), description: None, choices };
                Ok(Found { nullable, note, ..found(node) })
            }
        }
    }
}
