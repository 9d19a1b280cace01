//! Converts JSON Schema to a dynamic schema.

use super::dynamic::{DynamicSchema, Inexpressible, Node, Reason};
use crate::{
    limits::{KEY_CHARS, SCHEMA_DEPTH, SCHEMA_NODES},
    schema::{Presence, Property},
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

impl DynamicSchema {
    /// Converts the JSON schema of a tool's arguments. `name` becomes the name of the root.
    pub fn from_json(schema: &Value, name: &str) -> Result<Self, Inexpressible> {
        let mut converter = Converter {
            document: schema,
            names: BTreeSet::new(),
            references: BTreeMap::new(),
            definitions: Vec::new(),
            nodes: 0,
        };
        let Some(members) = schema.as_object() else { return fail("#", Reason::NoObject) };
        // By default, a tool without parameters takes no arguments.
        let nothing = members.get("properties").is_none_or(|given| *given == Value::Object(Map::new()))
            && !["$ref", "anyOf", "oneOf", "allOf", "enum", "const", "patternProperties", "required"]
                .iter()
                .any(|key| members.get(*key).is_some_and(|value| *value != Value::Array(Vec::new())));
        let closed = matches!(members.get("additionalProperties"), None | Some(Value::Bool(false)));
        let root = if nothing && closed && matches!(kind_of(members), None | Some("object")) {
            Node::Object { name: converter.unique_name(name), description: None, properties: Vec::new() }
        } else {
            converter.node(schema, "#", name, 0)?.node
        };
        match root {
            Node::Object { .. } => Ok(Self { root, definitions: converter.definitions }),
            // The whole root is a single definition.
            Node::Reference(name) => {
                let at = converter.definitions.iter().position(|node| node.name() == Some(&name));
                match at.map(|at| converter.definitions.remove(at)) {
                    Some(root @ Node::Object { .. }) if !mentions(&converter.definitions, &root, &name) => {
                        Ok(Self { root, definitions: converter.definitions })
                    }
                    _ => fail("#", Reason::Recursion),
                }
            }
            _ => fail("#", Reason::NoObject),
        }
    }
}

struct Converter<'a> {
    document: &'a Value,
    names: BTreeSet<String>,
    references: BTreeMap<String, Target>,
    definitions: Vec<Node>,
    nodes: usize,
}

#[derive(Clone)]
enum Target {
    /// Being converted: another reference to it is recursive.
    InProgress {
        name: String,
        met_again: bool,
    },
    Done(Found),
}

/// A converted schema, and the parts that a dynamic schema lacks.
#[derive(Clone)]
struct Found {
    node: Node,
    /// Whether `null` is also allowed.
    nullable: bool,
    /// Constraints worth stating to the model, for the description.
    note: Option<String>,
    description: Option<String>,
}

type Conversion = Result<Found, Inexpressible>;

impl Converter<'_> {
    fn node(&mut self, schema: &Value, at: &str, name: &str, depth: usize) -> Conversion {
        self.nodes += 1;
        if depth > SCHEMA_DEPTH || self.nodes > SCHEMA_NODES {
            return fail(at, Reason::TooLarge);
        }
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(true) => return fail(at, Reason::AnyJson),
            Value::Bool(false) => return fail(at, Reason::Nothing),
            _ => return fail(at, Reason::NoSchema),
        };
        if ["if", "dependentSchemas", "$dynamicRef", "$recursiveRef"]
            .iter()
            .any(|key| members.contains_key(*key))
        {
            return fail(at, Reason::Conditional);
        }
        let mut found = if let Some(reference) = members.get("$ref") {
            self.reference(reference, at, depth)?
        } else if let Some(all) = members.get("allOf") {
            match all.as_array().map(Vec::as_slice) {
                Some([one]) if !is_structural(members) => {
                    self.node(one, &format!("{at}/allOf/0"), name, depth + 1)?
                }
                _ => return fail(at, Reason::Combined),
            }
        } else if let Some(found) = self.choices(members, at, name, depth)? {
            found
        } else if let Some(constants) = members.get("enum") {
            let constants = constants.as_array().map(Vec::as_slice).unwrap_or_default();
            self.constants(constants, at, &titled(members, name))?
        } else if let Some(constant) = members.get("const") {
            self.constants(std::slice::from_ref(constant), at, &titled(members, name))?
        } else {
            self.typed(members, at, name, depth)?
        };
        if let Some(text) = text_of(members, "description") {
            found.description = Some(text);
        }
        Ok(found)
    }

    fn reference(&mut self, reference: &Value, at: &str, depth: usize) -> Conversion {
        let Some(pointer) = reference.as_str().and_then(|text| text.strip_prefix('#')) else {
            return fail(at, Reason::Reference);
        };
        if pointer.is_empty() {
            return fail(at, Reason::Recursion);
        }
        match self.references.get_mut(pointer) {
            Some(Target::Done(found)) => return Ok(found.clone()),
            Some(Target::InProgress { name, met_again }) => {
                *met_again = true;
                return Ok(Found::from(Node::Reference(name.clone())));
            }
            None => {}
        }
        let Some(target) = self.document.pointer(pointer) else { return fail(at, Reason::Reference) };
        let target = target.clone();
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let name = self
            .unique_name(&target.as_object().map_or_else(|| last.to_owned(), |target| titled(target, last)));
        let progress = Target::InProgress { name: name.clone(), met_again: false };
        self.references.insert(pointer.to_owned(), progress);
        // Releases the name, since the conversion takes it for its node.
        self.names.remove(&name);
        let mut converted = self.node(&target, &format!("#{pointer}"), &name, depth + 1)?;
        let met_again =
            matches!(self.references.get(pointer), Some(Target::InProgress { met_again: true, .. }));
        let named = matches!(converted.node, Node::Object { .. } | Node::AnyOf { .. })
            && converted.node.name() == Some(&name);
        if named {
            let node = std::mem::replace(&mut converted.node, Node::Reference(name));
            self.definitions.push(node);
            // The definition already has the description.
            converted.description = None;
        }
        if met_again && (!named || converted.nullable) {
            return fail(at, Reason::Recursion);
        }
        self.references.insert(pointer.to_owned(), Target::Done(converted.clone()));
        Ok(converted)
    }

    /// Creates a unique name that the framework accepts.
    fn unique_name(&mut self, wanted: &str) -> String {
        let mut plain: String = wanted
            .chars()
            .map(|char| if char.is_ascii_alphanumeric() { char } else { '_' })
            .take(KEY_CHARS)
            .collect();
        if plain.is_empty() {
            plain.push('_');
        }
        let mut name = plain.clone();
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{plain}_{number}");
            number += 1;
        }
        name
    }

    /// Converts `anyOf` and `oneOf`; `None` if absent, or if they only narrow the properties.
    fn choices(
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
        let own = if several { self.unique_name(&titled(members, name)) } else { name.to_owned() };
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
                Found::from(Node::AnyOf { name: own, description: None, choices })
            }
        };
        Ok(Some(Found { nullable, ..all }))
    }

    fn constants(&mut self, constants: &[Value], at: &str, name: &str) -> Conversion {
        let kept: Vec<_> = constants.iter().filter(|value| !value.is_null()).collect();
        let nullable = kept.len() < constants.len();
        if kept.is_empty() {
            return fail(at, if nullable { Reason::OnlyNull } else { Reason::Nothing });
        }
        let list = kept.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let note = if kept.len() == 1 { format!("always {list}") } else { format!("one of {list}") };
        let texts: Option<Vec<_>> = kept.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        let (node, note) = if let Some(choices) = texts {
            let mut seen = BTreeSet::new();
            let choices = choices.into_iter().filter(|choice| seen.insert(choice.clone())).collect();
            (Node::Enum { name: self.unique_name(name), choices }, None)
        } else if let Some(numbers) = kept.iter().map(|value| whole(value)).collect::<Option<Vec<_>>>() {
            let (minimum, maximum) = (numbers.iter().min().copied(), numbers.iter().max().copied());
            (Node::Integer { minimum, maximum }, Some(note))
        } else if kept.iter().all(|value| value.is_number()) {
            (Node::Number { minimum: None, maximum: None }, Some(note))
        } else if kept.iter().all(|value| value.is_boolean()) {
            (Node::Boolean, (kept.len() == 1).then_some(note))
        } else {
            return fail(at, Reason::MixedConstants);
        };
        Ok(Found { nullable, note, ..Found::from(node) })
    }

    /// Converts `"type": ["string", "null"]` and similar.
    fn one_of_types(
        &mut self,
        members: &Map<String, Value>,
        kinds: &[Value],
        at: &str,
        name: &str,
        depth: usize,
    ) -> Conversion {
        let kept: Vec<_> = kinds.iter().filter(|kind| kind.as_str() != Some("null")).collect();
        let nullable = kept.len() < kinds.len();
        // Integers are numbers, so `integer` next to `number` is redundant.
        let has_number = kept.iter().any(|kind| kind.as_str() == Some("number"));
        let kept: Vec<_> =
            kept.into_iter().filter(|kind| !has_number || kind.as_str() != Some("integer")).collect();
        if kinds.iter().any(Value::is_array) {
            return fail(at, Reason::NoSchema);
        }
        let mut as_type = |kind: &Value, part: &str| {
            let mut one = members.clone();
            one.insert("type".to_owned(), kind.clone());
            self.typed(&one, at, part, depth + 1)
        };
        match kept.as_slice() {
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
                let node = Node::AnyOf { name: self.unique_name(name), description: None, choices };
                Ok(Found { nullable, note, ..Found::from(node) })
            }
        }
    }

    fn typed(&mut self, members: &Map<String, Value>, at: &str, name: &str, depth: usize) -> Conversion {
        if let Some(Value::Array(kinds)) = members.get("type") {
            return self.one_of_types(members, kinds, at, name, depth);
        }
        let note = constraint_note(members);
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
        Ok(Found { note, ..Found::from(node) })
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
        let name = self.unique_name(&titled(members, name));
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
        Ok(Found { note, ..Found::from(node) })
    }
}

fn fail<T>(at: &str, reason: Reason) -> Result<T, Inexpressible> {
    Err(Inexpressible { at: at.to_owned(), reason })
}

impl From<Node> for Found {
    fn from(node: Node) -> Self {
        Self { node, nullable: false, note: None, description: None }
    }
}

fn mentions(definitions: &[Node], root: &Node, name: &str) -> bool {
    fn within(node: &Node, name: &str) -> bool {
        match node {
            Node::Reference(named) => named == name,
            Node::Object { properties, .. } => {
                properties.iter().any(|property| within(&property.schema, name))
            }
            Node::AnyOf { choices, .. } => choices.iter().any(|choice| within(choice, name)),
            Node::Array { items, .. } => within(items, name),
            _ => false,
        }
    }
    within(root, name) || definitions.iter().any(|node| within(node, name))
}

fn kind_of(members: &Map<String, Value>) -> Option<&str> {
    let inferred = || {
        let has = |key: &str| members.contains_key(key);
        if has("properties") || has("required") || has("additionalProperties") {
            Some("object")
        } else {
            has("items").then_some("array")
        }
    };
    members.get("type").map_or_else(inferred, |kind| kind.as_str().or(Some("")))
}

fn is_structural(members: &Map<String, Value>) -> bool {
    ["type", "properties", "items", "anyOf", "oneOf", "enum", "const"]
        .iter()
        .any(|key| members.contains_key(*key))
}

/// Returns constraints worth stating in the description: they are only checked on arrival.
fn constraint_note(members: &Map<String, Value>) -> Option<String> {
    let pattern = text_of(members, "pattern").map(|pattern| format!("matches {pattern}"));
    let of_text = members.get("type").and_then(Value::as_str) == Some("string");
    pattern
        .or_else(|| text_of(members, "format").filter(|_| of_text).map(|format| format!("format {format}")))
}

/// Returns the minimum and maximum. Contradictory bounds are ignored here and checked on arrival.
fn bounds<T: Copy + PartialOrd>(
    members: &Map<String, Value>,
    read: impl Fn(&Value) -> Option<T>,
    moved: impl Fn(T, i64) -> T,
) -> (Option<T>, Option<T>) {
    let bound = |key: &str| members.get(key).and_then(&read);
    let minimum = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|bound| moved(bound, 1)));
    let maximum = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|bound| moved(bound, -1)));
    if minimum.zip(maximum).is_some_and(|(least, most)| least > most) {
        (None, None)
    } else {
        (minimum, maximum)
    }
}

/// Returns an integer, even if it is written as a float.
fn whole(value: &Value) -> Option<i64> {
    let integral = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().filter(|_| !value.is_u64()).and_then(integral))
}

fn text_of(members: &Map<String, Value>, key: &str) -> Option<String> {
    members.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn titled(members: &Map<String, Value>, name: &str) -> String {
    text_of(members, "title").unwrap_or_else(|| name.to_owned())
}
