//! The folder named on the command line.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Returns the first argument that is not an option, as an absolute path resolved against `directory`.
///
/// Folders that don't exist are returned too: the bridge reports them with the same message to every client.
pub(crate) fn folder_argument<A>(arguments: impl IntoIterator<Item = A>, directory: &Path) -> Option<PathBuf>
where
    A: Into<OsString>,
{
    arguments
        .into_iter()
        .skip(1)
        .map(Into::into)
        .find(|argument: &OsString| !argument.as_encoded_bytes().starts_with(b"-") && !argument.is_empty())
        .map(|argument| directory.join(argument))
        .map(|path| path.canonicalize().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::folder_argument;
    use std::path::{Path, PathBuf};

    #[test]
    fn command_line_names_one_folder() {
        let here = Path::new("/nowhere/here");
        let cases: [(&[&str], Option<&str>); 6] = [
            (&["openagents-desktop"], None),
            (&["openagents-desktop", ""], None),
            (&["openagents-desktop", "--flag"], None),
            (&["openagents-desktop", "code"], Some("/nowhere/here/code")),
            (&["openagents-desktop", "-psn_0_1", "/elsewhere", "third"], Some("/elsewhere")),
            (&[], None),
        ];
        for (arguments, expected) in cases {
            assert_eq!(
                folder_argument(arguments.iter().copied(), here),
                expected.map(PathBuf::from),
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn dot_is_the_current_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(folder_argument(["app", "."], folder.path()), Some(folder.path().canonicalize().unwrap()));
    }
}
