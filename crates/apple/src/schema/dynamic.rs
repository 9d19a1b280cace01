//! Dynamic generation schemas, an exact model of the framework's.

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
        /// Description for the model.
        description: Option<String>,
        /// Properties, in the order in which they are generated.
        properties: Vec<Property>,
    },
    /// One of several schemas.
    AnyOf {
        /// The type name.
        name: String,
        /// Description for the model.
        description: Option<String>,
        /// Alternatives, at least two.
        choices: Vec<Node>,
    },
    /// One of these texts.
    Enum {
        /// The type name.
        name: String,
        /// Allowed texts, at least one.
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
    /// A reference to the definition with this name.
    Reference(String),
}

/// A property of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// Key in the object.
    pub name: String,
    /// Description for the model.
    pub description: Option<String>,
    /// Schema of the value.
    pub schema: Node,
    /// Whether the property may be omitted.
    pub presence: Presence,
}

/// Whether a property may be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Must be present.
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
}

impl Node {
    /// Returns the name to use in a reference.
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
