//! What a person notes about sessions, beside their logs.

/// Where a session stands in the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// It stands above the others.
    pub pinned: bool,
    /// It is shown on request only.
    pub archived: bool,
}

/// The person's label of another agent's session, whose log is not ours to change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptLabel {
    /// The person's own title.
    pub title: Option<String>,
    /// Where it stands in the list.
    pub marks: Marks,
}
