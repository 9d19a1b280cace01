//! Tool schemas between JSON Schema and Foundation Models.
//!
//! The framework does not read JSON Schema. Its arguments are *dynamic generation schemas*, of which [`DynamicSchema`] is
//! the plain form: it can say everything that they can, and nothing else. [`OfferedTool`] is a tool of ours as the
//! framework gets it: with a dynamic schema where there is one that can say everything the JSON schema allows, otherwise
//! behind the *universal JSON proxy*, one string that holds all arguments. Constraints that only narrow (a pattern, a
//! format, a length) are left to the check on arrival: whatever the model says is compared with the tool's own schema.

mod convert;
mod extract;
mod offered;
mod reason;
mod restore;
#[cfg(test)]
mod tests;

pub use extract::from_framework;
pub use offered::{Arguments, OfferedTool, PROXY_NOTE};
pub use reason::{Inexpressible, Reason};

/// The arguments of a tool as Foundation Models can generate them.
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicSchema {
    /// Always a [`Node::Object`].
    pub root: Node,
    /// What a [`Node::Reference`] can name: objects and choices, each under its own name.
    pub definitions: Vec<Node>,
}

/// One schema. A name is unique within a [`DynamicSchema`]: the framework refuses two types of one name.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// An object with these properties and no others.
    Object {
        /// Its type.
        name: String,
        /// For the model.
        description: Option<String>,
        /// In the order in which they are written.
        properties: Vec<Property>,
    },
    /// One of several.
    AnyOf {
        /// Its type.
        name: String,
        /// For the model.
        description: Option<String>,
        /// At least two.
        choices: Vec<Node>,
    },
    /// One of these texts.
    Enum {
        /// Its type.
        name: String,
        /// At least one.
        choices: Vec<String>,
    },
    /// Any text.
    String,
    /// A whole number within the bounds.
    Integer {
        /// Not less.
        minimum: Option<i64>,
        /// Not more.
        maximum: Option<i64>,
    },
    /// A number within the bounds.
    Number {
        /// Not less.
        minimum: Option<f64>,
        /// Not more.
        maximum: Option<f64>,
    },
    /// True or false.
    Boolean,
    /// A list.
    Array {
        /// Each of them.
        items: Box<Node>,
        /// Not fewer.
        minimum: Option<usize>,
        /// Not more.
        maximum: Option<usize>,
    },
    /// The definition of this name.
    Reference(String),
}

/// A property of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// Its key.
    pub name: String,
    /// For the model.
    pub description: Option<String>,
    /// Its value.
    pub schema: Node,
    /// Whether it may be left out.
    pub presence: Presence,
}

/// Whether a property may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It may not.
    Required,
    /// It may.
    Optional,
    /// The tool wants the key and takes `null`. The model leaves it out, and the `null` is put in on arrival: the framework
    /// knows no `null` before macOS 26.4.
    Nullable,
}

impl DynamicSchema {
    /// Returns the same without descriptions, which are for the model alone.
    pub fn without_descriptions(&self) -> Self {
        Self {
            root: self.root.without_descriptions(),
            definitions: self.definitions.iter().map(Node::without_descriptions).collect(),
        }
    }
}

impl Node {
    /// Returns the name that a reference can have.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Object { name, .. } | Self::AnyOf { name, .. } | Self::Enum { name, .. } => Some(name),
            _ => None,
        }
    }

    fn without_descriptions(&self) -> Self {
        match self {
            Self::Object { name, properties, .. } => Self::Object {
                name: name.clone(),
                description: None,
                properties: properties
                    .iter()
                    .map(|property| Property {
                        description: None,
                        schema: property.schema.without_descriptions(),
                        ..property.clone()
                    })
                    .collect(),
            },
            Self::AnyOf { name, choices, .. } => Self::AnyOf {
                name: name.clone(),
                description: None,
                choices: choices.iter().map(Self::without_descriptions).collect(),
            },
            Self::Array { items, minimum, maximum } => Self::Array {
                items: Box::new(items.without_descriptions()),
                minimum: *minimum,
                maximum: *maximum,
            },
            other => other.clone(),
        }
    }
}
