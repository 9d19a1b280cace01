//! Alternatives: `anyOf`, `oneOf`, `enum`, `const`, and several types.

use super::{
    Conversion, Converter, Found, found,
    keywords::{titled, whole},
};
use crate::schema::{Inexpressible, Node, Reason};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

impl Converter<'_> {
    /// `anyOf` and `oneOf`; `None` if absent, or if they only narrow the properties.
    pub(super) fn choices(
        &mut self,
        members: &Map<String, Value>,
        at: &str,
        name: &str,
        depth: usize,
    ) -> Result<Option<Found>, Inexpressible> {
        let fail = |reason| Err(Inexpressible { at: at.to_owned(), reason });
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
            return if variants.iter().all(narrows) { Ok(None) } else { fail(Reason::Combined) };
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
        // Its name is taken before those of its parts.
        let own = if kept.len() > 1 { self.name(&titled(members, name)) } else { name.to_owned() };
        let mut choices = Vec::new();
        let mut only = None;
        let several = kept.len() > 1;
        for (number, variant) in kept {
            let part = if several { format!("{own}_{}", number + 1) } else { own.clone() };
            let found = self.node(variant, &format!("{at}/{key}/{number}"), &part, depth + 1)?;
            nullable |= found.nullable;
            choices.push(found.node.clone());
            only = Some(found);
        }
        match (choices.len(), only) {
            (0, _) => fail(if nullable { Reason::OnlyNull } else { Reason::Nothing }),
            (1, Some(only)) => Ok(Some(Found { nullable, ..only })),
            _ => Ok(Some(Found { nullable, ..found(Node::AnyOf { name: own, description: None, choices }) })),
        }
    }

    /// `enum` and `const`.
    pub(super) fn constants(&mut self, constants: &[Value], at: &str, name: &str) -> Conversion {
        let fail = |reason| Err(Inexpressible { at: at.to_owned(), reason });
        let said: Vec<_> = constants.iter().filter(|value| !value.is_null()).collect();
        let nullable = said.len() < constants.len();
        if said.is_empty() {
            return fail(if nullable { Reason::OnlyNull } else { Reason::Nothing });
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
            return fail(Reason::MixedConstants);
        };
        Ok(Found { nullable, note, ..found(node) })
    }

    /// `"type": ["string", "null"]` and similar.
    pub(super) fn one_of_types(
        &mut self,
        members: &Map<String, Value>,
        kinds: &[Value],
        at: &str,
        name: &str,
        depth: usize,
    ) -> Conversion {
        let fail = |reason| Err(Inexpressible { at: at.to_owned(), reason });
        let said: Vec<_> = kinds.iter().filter(|kind| kind.as_str() != Some("null")).collect();
        let nullable = said.len() < kinds.len();
        // Integers are numbers.
        let has_number = said.iter().any(|kind| kind.as_str() == Some("number"));
        let said: Vec<_> =
            said.into_iter().filter(|kind| !has_number || kind.as_str() != Some("integer")).collect();
        let mut as_type = |kind: &Value, part: &str| {
            let mut one = members.clone();
            one.insert("type".to_owned(), kind.clone());
            if one.get("type").is_some_and(Value::is_array) {
                None
            } else {
                Some(self.typed(&one, at, part, depth + 1))
            }
        };
        match said.as_slice() {
            [] => fail(if nullable { Reason::OnlyNull } else { Reason::NoSchema }),
            [one] => match as_type(one, name) {
                Some(found) => Ok(Found { nullable, ..found? }),
                None => fail(Reason::NoSchema),
            },
            several => {
                let mut choices = Vec::new();
                let mut note = None;
                for kind in several {
                    let part = format!("{name}_{}", kind.as_str().unwrap_or_default());
                    let Some(found) = as_type(kind, &part) else { return fail(Reason::NoSchema) };
                    let found = found?;
                    note = note.or(found.note);
                    choices.push(found.node);
                }
                let node = Node::AnyOf { name: self.name(name), description: None, choices };
                Ok(Found { nullable, note, ..found(node) })
            }
        }
    }
}
