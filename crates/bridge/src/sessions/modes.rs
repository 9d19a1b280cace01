//! The modes of a session: who answers its prompts.

use openagents_core::model::{LOCAL_MODEL, LocalModels};

/// The mode of a session that nobody set another mode for.
pub(crate) const DEFAULT_MODE: &str = "default_mode";

/// A mode as people choose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) id: &'static str,
    pub(crate) name: String,
    pub(crate) description: &'static str,
}

/// Returns the modes that can be chosen now.
pub(super) fn available(models: Option<&dyn LocalModels>) -> Vec<Mode> {
    let explore = Mode {
        id: DEFAULT_MODE,
        name: "OpenAgents".to_owned(),
        description: "Explores the folder and says what was done in it",
    };
    let local = models.map(|models| Mode {
        id: LOCAL_MODEL,
        name: models.model().name(),
        description: "Answers with the model on this computer; nothing leaves it",
    });
    std::iter::once(explore).chain(local).collect()
}
