//! Converts tool schemas between JSON Schema and Foundation Models.
//!
//! The framework does not read JSON Schema. Its arguments are *dynamic generation schemas*, of which [`DynamicSchema`]
//! is an exact model. [`OfferedTool`] is one of our tools as offered to the framework: with a dynamic schema if it can
//! express everything the JSON schema allows, or else behind the *universal JSON proxy*, a single string with all
//! arguments. Constraints that only narrow (a pattern, a format, a length) are left to the check on arrival: all
//! arguments are validated against the tool's own schema.

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
    /// The targets of [`Node::Reference`]: objects and alternatives with a name.
    pub definitions: Vec<Node>,
}

/// A schema. Names are unique within a [`DynamicSchema`], as the framework requires.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// An object with these properties and no others.
    Object {
        /// The type name.
        name: String,
        /// For the model.
        description: Option<String>,
        /// In the order they are generated.
        properties: Vec<Property>,
    },
    /// One of several schemas.
    AnyOf {
        /// The type name.
        name: String,
        /// For the model.
        description: Option<String>,
        /// At least two.
        choices: Vec<Node>,
    },
    /// One of these texts.
    Enum {
        /// The type name.
        name: String,
        /// At least one.
        choices: Vec<String>,
    },
    /// Any text.
    String,
    /// An integer within the bounds.
    Integer {
        /// Inclusive.
        minimum: Option<i64>,
        /// Inclusive.
        maximum: Option<i64>,
    },
    /// A number within the bounds.
    Number {
        /// Inclusive.
        minimum: Option<f64>,
        /// Inclusive.
        maximum: Option<f64>,
    },
    /// True or false.
    Boolean,
    /// A list.
    Array {
        /// The schema of the items.
        items: Box<Node>,
        /// Minimum number of items.
        minimum: Option<usize>,
        /// Maximum number of items.
        maximum: Option<usize>,
    },
    /// The definition with this name.
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
    /// Whether it may be omitted.
    pub presence: Presence,
}

/// Whether a property may be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Must be present.
    Required,
    /// May be omitted.
    Optional,
    /// The tool requires the key and accepts `null`. The model omits it, and `null` is inserted on arrival: the
    /// framework has no `null` before macOS 26.4.
    Nullable,
}

impl DynamicSchema {
    /// Returns the same without descriptions, which are only for the model.
    pub fn without_descriptions(&self) -> Self {
        Self {
            root: self.root.without_descriptions(),
            definitions: self.definitions.iter().map(Node::without_descriptions).collect(),
        }
    }
}

impl Node {
    /// Returns the name usable in a reference.
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
