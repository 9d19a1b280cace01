//! Reasons why a JSON schema has no dynamic schema.

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
#[expect(missing_docs, reason = "the messages say it")]
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
