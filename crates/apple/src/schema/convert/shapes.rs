//! Schemas of a single type: objects, lists, texts, numbers.

use super::{
    Conversion, Converter, Found, fail, found,
    keywords::{bounds, kind_of, noted, text_of, titled, whole},
};
use crate::{
    limits::KEY_CHARS,
    schema::{Inexpressible, Node, Presence, Property, Reason},
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

impl Converter<'_> {
    pub(super) fn typed(
        &mut self,
        members: &Map<String, Value>,
        at: &str,
        name: &str,
        depth: usize,
    ) -> Conversion {
        if let Some(Value::Array(kinds)) = members.get("type") {
            return self.one_of_types(members, kinds, at, name, depth);
        }
        let note = noted(members);
        let node = match kind_of(members) {
            Some("object") => self.object(members, at, name, depth)?,
            Some("array") => return self.array(members, at, name, depth),
            Some("string") => Node::String,
            Some("integer") => {
                let (minimum, maximum) = bounds(members, whole, |bound, step| bound.saturating_add(step));
                Node::Integer { minimum, maximum }
            }
            Some("number") => {
                let finite = |value: &Value| value.as_f64().filter(|bound| bound.is_finite());
                let (minimum, maximum) = bounds(members, finite, |bound, _| bound);
                Node::Number { minimum, maximum }
            }
            Some("boolean") => Node::Boolean,
            Some("null") => return fail(at, Reason::OnlyNull),
            Some(_) => return fail(at, Reason::NoSchema),
            None => return fail(at, Reason::AnyJson),
        };
        Ok(Found { note, ..found(node) })
    }

    fn object(
        &mut self,
        members: &Map<String, Value>,
        at: &str,
        name: &str,
        depth: usize,
    ) -> Result<Node, Inexpressible> {
        let none = Map::new();
        let given = members.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let is_map = |key: &str| {
            members.get(key).and_then(Value::as_object).is_some_and(|members| !members.is_empty())
        };
        let is_closed = members.get("additionalProperties") == Some(&Value::Bool(false));
        if is_map("patternProperties") || is_map("additionalProperties") || given.is_empty() && !is_closed {
            return fail(at, Reason::FreeKeys);
        }
        let required: BTreeSet<_> = members
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if let Some(missing) = required.iter().find(|key| !given.contains_key(**key)) {
            return fail(&format!("{at}/properties/{missing}"), Reason::AnyJson);
        }
        let name = self.name(&titled(members, name));
        let mut properties = Vec::new();
        for (key, schema) in given {
            let at = format!("{at}/properties/{key}");
            if key.is_empty() || key.chars().count() > KEY_CHARS || key.chars().any(char::is_control) {
                return fail(&at, Reason::Key);
            }
            let found = self.node(schema, &at, &format!("{name}_{key}"), depth + 1)?;
            let presence = match (required.contains(key.as_str()), found.nullable) {
                (true, false) => Presence::Required,
                (true, true) => Presence::Nullable,
                (false, _) => Presence::Optional,
            };
            let description = match (found.description, found.note) {
                (Some(text), Some(note)) => Some(format!("{text} ({note})")),
                (text, note) => text.or(note),
            };
            let mut schema = found.node;
            // The property already has the description.
            if let Node::Object { description: own, .. } | Node::AnyOf { description: own, .. } = &mut schema
            {
                *own = None;
            }
            properties.push(Property { name: key.clone(), description, schema, presence });
        }
        Ok(Node::Object { name, description: text_of(members, "description"), properties })
    }

    fn array(&mut self, members: &Map<String, Value>, at: &str, name: &str, depth: usize) -> Conversion {
        let items = match members.get("items") {
            _ if members.contains_key("prefixItems") => return fail(at, Reason::Tuple),
            Some(Value::Array(_)) => return fail(at, Reason::Tuple),
            Some(items) => items,
            None => return fail(at, Reason::AnyJson),
        };
        let item = self.node(items, &format!("{at}/items"), &format!("{name}_item"), depth + 1)?;
        if item.nullable {
            return fail(at, Reason::NullElement);
        }
        let bound =
            |key: &str| members.get(key).and_then(whole).and_then(|bound| usize::try_from(bound).ok());
        let (mut minimum, mut maximum) = (bound("minItems"), bound("maxItems"));
        if minimum.zip(maximum).is_some_and(|(least, most)| least > most) {
            (minimum, maximum) = (None, None);
        }
        let node = Node::Array { items: Box::new(item.node), minimum, maximum };
        let note = item.note.map(|note| format!("each {note}"));
        Ok(Found { note, ..found(node) })
    }
}
