//! What the user chooses for an export.

/// The form of an exported session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Markdown,
    /// One page without scripts and without references to other files.
    Html,
    Json,
}

/// How much of the tools' output is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolOutput {
    /// The first 20 lines of each output.
    #[default]
    Short,
    Full,
    /// Only which tools were called.
    None,
}

/// What the user chooses for an export.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    pub format: Format,
    pub tools: ToolOutput,
    /// Leaves all secrets as they are.
    pub show_secrets: bool,
    /// Secrets, by their places in [`Exported::secrets`], that stay as they are.
    pub shown: Vec<usize>,
}
