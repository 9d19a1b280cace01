//! Why a JSON schema has no dynamic schema.

/// Why a JSON schema has no dynamic schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct Inexpressible {
    /// Where: a JSON pointer into the schema, `#` for all of it.
    pub at: String,
    /// What cannot be said.
    pub reason: Reason,
}

/// What a dynamic schema cannot say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Reason {
    #[error("the arguments are no object")]
    NoObject,
    #[error("it is no schema")]
    NoSchema,
    #[error("any JSON is allowed here")]
    AnyJson,
    #[error("an object whose keys are free")]
    FreeKeys,
    #[error("nothing is allowed here but null")]
    OnlyNull,
    #[error("nothing is allowed here")]
    Nothing,
    #[error("a list with an element that may be null")]
    NullElement,
    #[error("a list whose elements differ by their place")]
    Tuple,
    #[error("a constant that is no text, number or boolean, or several kinds of them")]
    MixedConstants,
    #[error("several schemas at once (allOf, or choices beside properties)")]
    Combined,
    #[error("a schema that depends on a value (if, dependentSchemas)")]
    Conditional,
    #[error("a reference out of the schema, or to what is not there")]
    Reference,
    #[error("a reference to itself that has no end, or to the whole")]
    Recursion,
    #[error("a key that is empty, too long or has control characters")]
    Key,
    #[error("the framework does not take it")]
    Refused,
    #[error("nested too deeply, or too large")]
    TooLarge,
}
