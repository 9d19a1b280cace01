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
    // A link to this program lies where the helper does not.
    let real = std::fs::canonicalize(this).unwrap_or_else(|_| this.to_owned());
    let folders = [this, &real].map(|this| this.ancestors().skip(1).take(2));
    folders.into_iter().flatten().map(|folder| folder.join(&name)).find(|program| program.is_file())
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

    #[cfg(unix)]
    #[test]
    fn the_helper_of_a_program_behind_a_link_was_not_found() {
        let folder = tempfile::tempdir().unwrap();
        let (installed, linked) = (folder.path().join("app/programs"), folder.path().join("user/bin"));
        for made in [&installed, &linked] {
            std::fs::create_dir_all(made).unwrap();
        }
        for program in ["openagents", NAME] {
            std::fs::write(installed.join(program), "").unwrap();
        }
        let link = linked.join("openagents");
        std::os::unix::fs::symlink(installed.join("openagents"), &link).unwrap();
        let found = std::fs::canonicalize(beside(&link).unwrap()).unwrap();
        assert_eq!(found, std::fs::canonicalize(installed.join(NAME)).unwrap());
    }
}
