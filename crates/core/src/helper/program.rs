//! Finds the helper program.

use std::path::{Path, PathBuf};

/// Returns the path of a program: from the variable, next to this program, or one folder up (for cargo tests).
pub fn find(name: &str, variable: &str) -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(variable).filter(|named| !named.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    let this =
        std::env::current_exe().map_err(|error| format!("this program cannot find itself: {error}"))?;
    find_beside(&this, name).ok_or_else(|| {
        let folder = this.parent().unwrap_or(&this).display();
        format!("the helper program {name} is not in {folder}; install it there or name it with {variable}")
    })
}

fn find_beside(this: &Path, name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // If this program is a link, the helper is not next to the link.
    let real = std::fs::canonicalize(this).unwrap_or_else(|_| this.to_owned());
    let folders = [this, &real].map(|this| this.ancestors().skip(1).take(2));
    folders.into_iter().flatten().map(|folder| folder.join(&name)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "openagents-llama";

    #[test]
    fn find_searches_program_folder_and_parent() {
        let folder = tempfile::tempdir().unwrap();
        let deps = folder.path().join("deps");
        std::fs::create_dir(&deps).unwrap();
        assert_eq!(find_beside(&deps.join("test"), NAME), None);
        let helper = folder.path().join(NAME);
        std::fs::write(&helper, "").unwrap();
        assert_eq!(find_beside(&deps.join("test"), NAME), Some(helper.clone()));
        assert_eq!(find_beside(&folder.path().join("openagents"), NAME), Some(helper));
    }

    #[test]
    fn find_resolves_link_to_program() {
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
        let found = std::fs::canonicalize(find_beside(&link, NAME).unwrap()).unwrap();
        assert_eq!(found, std::fs::canonicalize(installed.join(NAME)).unwrap());
    }
}
