//! Converts JSON Schema to a dynamic schema.

mod choices;
mod keywords;
mod shapes;

use super::{
    dynamic::{DynamicSchema, Node},
    reason::{Inexpressible, Reason},
};
use crate::limits::{KEY_CHARS, SCHEMA_DEPTH, SCHEMA_NODES};
use keywords::{is_structural, kind_of, text_of, titled};
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
            Node::Object { name: converter.name(name), description: None, properties: Vec::new() }
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
    /// Names in use.
    names: BTreeSet<String>,
    references: BTreeMap<String, Target>,
    definitions: Vec<Node>,
    nodes: usize,
}

/// The target of a reference.
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
    /// The description of the schema or of its target.
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
                return Ok(found(Node::Reference(name.clone())));
            }
            None => {}
        }
        let Some(target) = self.document.pointer(pointer) else { return fail(at, Reason::Reference) };
        let target = target.clone();
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let name =
            self.name(&target.as_object().map_or_else(|| last.to_owned(), |target| titled(target, last)));
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
    fn name(&mut self, wanted: &str) -> String {
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
}

fn fail<T>(at: &str, reason: Reason) -> Result<T, Inexpressible> {
    Err(Inexpressible { at: at.to_owned(), reason })
}

fn found(node: Node) -> Found {
    Found { node, nullable: false, note: None, description: None }
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
