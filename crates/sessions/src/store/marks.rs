//! The user's labels for sessions and transcripts, kept outside their logs.

/// The marks of a session in the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Listed above the others.
    pub pinned: bool,
    /// Shown only on request.
    pub archived: bool,
}

/// The user's label for another agent's transcript, which is not ours to change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptLabel {
    /// The user's own title.
    pub title: Option<String>,
    /// Its marks in the list.
    pub marks: Marks,
}
