//! Dynamic generation schemas, an exact model of the framework's.

use serde_json::{Number, Value};

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
        name: String,
        description: Option<String>,
        /// Properties, in the order in which they are generated.
        properties: Vec<Property>,
    },
    AnyOf {
        name: String,
        description: Option<String>,
        /// Alternatives, at least two.
        choices: Vec<Node>,
    },
    /// One of these texts.
    Enum {
        name: String,
        /// Allowed texts, at least one.
        choices: Vec<String>,
    },
    String,
    /// An integer within inclusive bounds.
    Integer {
        minimum: Option<i64>,
        maximum: Option<i64>,
    },
    /// A number within inclusive bounds.
    Number {
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    Boolean,
    Array {
        items: Box<Node>,
        minimum: Option<usize>,
        maximum: Option<usize>,
    },
    /// A reference to the definition with this name.
    Reference(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    pub name: String,
    pub description: Option<String>,
    pub schema: Node,
    pub presence: Presence,
}

/// Whether a property may be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Required,
    /// May be omitted.
    Optional,
    /// Required, but may be `null`, which the framework lacks before macOS 26.4: the model omits it, and it is
    /// inserted afterwards.
    Nullable,
}

impl DynamicSchema {
    /// Returns the same schema without descriptions, which are only for the model.
    pub fn without_descriptions(&self) -> Self {
        let mut bare = self.clone();
        bare.root.drop_descriptions();
        bare.definitions.iter_mut().for_each(Node::drop_descriptions);
        bare
    }

    /// Inserts the `null`s that the model can't write, removes `null`s that mean an omitted
    /// property, and restores integers.
    pub fn restore(&self, mut arguments: Value) -> Value {
        self.restore_node(&self.root, &mut arguments);
        arguments
    }

    /// Recurses no deeper than the value.
    fn restore_node(&self, node: &Node, value: &mut Value) {
        match (node, value) {
            (Node::Object { properties, .. }, Value::Object(members)) => {
                for property in properties {
                    match (property.presence, members.get_mut(&property.name)) {
                        (Presence::Nullable, None) => {
                            members.insert(property.name.clone(), Value::Null);
                        }
                        (Presence::Optional, Some(Value::Null)) => {
                            members.shift_remove(&property.name);
                        }
                        (_, Some(value)) => self.restore_node(&property.schema, value),
                        (_, None) => {}
                    }
                }
            }
            (Node::Array { items, .. }, Value::Array(values)) => {
                values.iter_mut().for_each(|value| self.restore_node(items, value));
            }
            (Node::Reference(name), value) => {
                if let Some(definition) = self.definitions.iter().find(|node| node.name() == Some(name)) {
                    self.restore_node(definition, value);
                }
            }
            (Node::Integer { .. }, Value::Number(number)) => {
                let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15);
                if let (true, Some(whole)) = (number.is_f64(), whole) {
                    *number = Number::from(whole as i64);
                }
            }
            // Which alternative was chosen is unknown.
            _ => {}
        }
    }
}

impl Node {
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Object { name, .. } | Self::AnyOf { name, .. } | Self::Enum { name, .. } => Some(name),
            _ => None,
        }
    }

    fn drop_descriptions(&mut self) {
        match self {
            Self::Object { description, properties, .. } => {
                *description = None;
                for property in properties {
                    property.description = None;
                    property.schema.drop_descriptions();
                }
            }
            Self::AnyOf { description, choices, .. } => {
                *description = None;
                choices.iter_mut().for_each(Self::drop_descriptions);
            }
            Self::Array { items, .. } => items.drop_descriptions(),
            _ => {}
        }
    }
}

/// The reason a JSON schema has no dynamic schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct Inexpressible {
    /// The location: a JSON pointer into the schema, `#` for its root.
    pub at: String,
    /// The unsupported feature.
    pub reason: Reason,
}

/// A feature that dynamic schemas don't support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the arguments are not an object")]
    NoObject,
    #[error("it is not a schema")]
    NoSchema,
    #[error("any JSON is allowed here")]
    AnyJson,
    #[error("an object with arbitrary keys")]
    FreeKeys,
    #[error("nothing is allowed here but null")]
    OnlyNull,
    #[error("nothing is allowed here")]
    Nothing,
    #[error("a list with an element that may be null")]
    NullElement,
    #[error("a list whose items differ by position")]
    Tuple,
    #[error("a constant other than text, numbers or booleans, or a mixture of them")]
    MixedConstants,
    #[error("several schemas at once (allOf, or alternatives with properties)")]
    Combined,
    #[error("a schema that depends on a value (if, dependentSchemas)")]
    Conditional,
    #[error("a reference to another schema or a missing definition")]
    Reference,
    #[error("an endless recursion, or a reference to the root")]
    Recursion,
    #[error("a key that is empty, too long or has control characters")]
    Key,
    #[error("the framework rejects it")]
    Refused,
    #[error("nested too deeply, or too large")]
    TooLarge,
}
