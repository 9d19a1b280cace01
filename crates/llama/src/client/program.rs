//! Where the helper program is.

use openagents_core::model::ModelError;
use std::path::{Path, PathBuf};

/// Names the helper program.
pub const HELPER_VARIABLE: &str = "OPENAGENTS_LLAMA_HELPER";

const NAME: &str = "openagents-llama";

/// Returns the helper program: the one that [`HELPER_VARIABLE`] names, else the one beside this program, or one folder
/// up, where the programs that cargo builds are as a test sees it.
pub(super) fn find() -> Result<PathBuf, ModelError> {
    if let Some(named) = std::env::var_os(HELPER_VARIABLE).filter(|named| !named.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    let this = std::env::current_exe()
        .map_err(|error| ModelError::Unavailable(format!("this program cannot find itself: {error}")))?;
    beside(&this).ok_or_else(|| {
        let folder = this.parent().unwrap_or(&this).display();
        ModelError::Unavailable(format!(
            "the helper program {NAME} is not in {folder}; install it there or name it with {HELPER_VARIABLE}"
        ))
    })
}

fn beside(this: &Path) -> Option<PathBuf> {
    let name = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    this.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_helper_is_beside_this_program_or_one_folder_up() {
        let folder = tempfile::tempdir().unwrap();
        let deps = folder.path().join("deps");
        std::fs::create_dir(&deps).unwrap();
        assert_eq!(beside(&deps.join("test")), None);
        let helper = folder.path().join(NAME);
        std::fs::write(&helper, "").unwrap();
        assert_eq!(beside(&deps.join("test")), Some(helper.clone()));
        assert_eq!(beside(&folder.path().join("openagents")), Some(helper));
    }
}
