//! Opens files in the user's editor: through a link scheme that the editor registers, or by a command.
//!
//! The page may set the command. This gives the page no new rights: it is connected as an admin, which may add agents
//! that run any program.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::process::{Child, Command};

/// Prefixes of links to files. The same schemes also have links that change the editor, such as links that install an
/// extension.
const LINKS: [&str; 3] = ["vscode://file/", "zed://file/", "idea://open?file=/"];
/// Used if no command is set.
const DEFAULT: &str = "$EDITOR";

#[derive(Debug, thiserror::Error)]
pub(crate) enum EditorError {
    /// The path is outside of the workspace or does not exist.
    #[error("{path} is not a file of the workspace {}", root.display())]
    Outside { root: PathBuf, path: String },
    #[error("the editor command `{0}` has an unclosed quote; correct it in Settings, Editor")]
    Quote(String),
    #[error("{0} is not set; enter the command of your editor in Settings, Editor")]
    Unset(String),
    #[error("couldn't start `{program}`: {source}; check the command in Settings, Editor")]
    Start { program: String, source: io::Error },
}

/// Returns whether `link` opens a file in one of the editors offered in the settings.
pub(crate) fn is_file_link(link: &str) -> bool {
    LINKS.iter().any(|start| link.starts_with(start))
}

/// Returns the absolute path of a file in the workspace `root`. A symlink to a file outside counts as outside.
pub(crate) fn file_in(root: &Path, path: &str) -> Result<PathBuf, EditorError> {
    let outside = || EditorError::Outside { root: root.to_owned(), path: path.to_owned() };
    let root = root.canonicalize().map_err(|_| outside())?;
    let file = root.join(path).canonicalize().map_err(|_| outside())?;
    if file.starts_with(&root) && file.is_file() { Ok(file) } else { Err(outside()) }
}

/// Splits `command` like a shell, but expands only a first word that is a variable, such as `$EDITOR`. `{path}` and
/// `{line}` are filled in; a command without `{path}` gets the path as its last argument.
pub(crate) fn command_words(
    command: &str,
    file: &Path,
    line: u64,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, EditorError> {
    let split = |text: &str| shlex::split(text).ok_or_else(|| EditorError::Quote(text.to_owned()));
    let mut words = split(command)?;
    if words.is_empty() {
        words.push(DEFAULT.to_owned());
    }
    if let Some(name) = words[0].strip_prefix('$') {
        let value = variable(name).unwrap_or_default();
        let program = split(&value)?;
        if program.is_empty() {
            return Err(EditorError::Unset(words[0].clone()));
        }
        words.splice(..1, program);
    }
    let path = file.to_string_lossy();
    if !words.iter().any(|word| word.contains("{path}")) {
        words.push("{path}".to_owned());
    }
    // The path is filled in last, since it may contain a placeholder.
    Ok(words.iter().map(|word| word.replace("{line}", &line.to_string()).replace("{path}", &path)).collect())
}

/// Starts `words` in the workspace, with the variables of the login shell and no input.
pub(crate) fn start(
    words: &[String],
    root: &Path,
    variables: Vec<(OsString, OsString)>,
) -> Result<Child, EditorError> {
    let (program, arguments) = words.split_first().ok_or_else(|| EditorError::Unset(DEFAULT.to_owned()))?;
    Command::new(program)
        .args(arguments)
        .envs(variables)
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C in our terminal is not meant for the editor.
        .process_group(0)
        .spawn()
        .map_err(|source| EditorError::Start { program: program.clone(), source })
}

#[cfg(test)]
mod tests {
    use super::{EditorError, command_words, file_in, is_file_link, start};
    use std::{fs, path::Path};

    #[test]
    fn opener_accepts_only_file_links() {
        for (link, expected) in [
            ("vscode://file/w/a.rs:3", true),
            ("zed://file/w/a.rs:3", true),
            ("idea://open?file=/w/a.rs&line=3", true),
            ("vscode://vscode.git/clone?url=x", false),
            ("vscode:extension/evil.evil", false),
            ("zed://extension/x", false),
            ("file:///etc/passwd", false),
            ("https://example.com/vscode://file/", false),
        ] {
            assert_eq!(is_file_link(link), expected, "{link}");
        }
    }

    #[test]
    fn file_outside_the_workspace_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("w");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a b.rs"), "").unwrap();
        fs::write(folder.path().join("secret"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), root.join("link")).unwrap();
        assert_eq!(file_in(&root, "src/a b.rs").unwrap(), root.canonicalize().unwrap().join("src/a b.rs"));
        for path in ["../secret", "link", "src", "", "none.rs", "/etc/passwd", "src/../../secret"] {
            assert!(matches!(file_in(&root, path), Err(EditorError::Outside { .. })), "{path}");
        }
    }

    #[test]
    fn editor_command_is_split_and_filled() {
        let file = Path::new("/w/a b{line}.rs");
        let variable = |name: &str| (name == "EDITOR").then(|| "code --wait".to_owned());
        for (command, expected) in [
            ("code -g {path}:{line}", &["code", "-g", "/w/a b{line}.rs:7"][..]),
            ("zed", &["zed", "/w/a b{line}.rs"]),
            ("", &["code", "--wait", "/w/a b{line}.rs"]),
            ("$EDITOR +{line}", &["code", "--wait", "+7", "/w/a b{line}.rs"]),
            (
                "'/opt/My Editor/run' {path}; rm -rf $HOME",
                &["/opt/My Editor/run", "/w/a b{line}.rs;", "rm", "-rf", "$HOME"],
            ),
        ] {
            assert_eq!(command_words(command, file, 7, variable).unwrap(), expected, "{command}");
        }
        assert!(matches!(command_words("code 'x", file, 7, variable), Err(EditorError::Quote(_))));
        let unset = command_words("$VISUAL", file, 7, variable).unwrap_err();
        assert_eq!(
            unset.to_string(),
            "$VISUAL is not set; enter the command of your editor in Settings, Editor"
        );
    }

    #[tokio::test]
    async fn missing_editor_is_named() {
        let error = start(&["no-such-editor".to_owned()], Path::new("/"), Vec::new()).unwrap_err();
        assert!(error.to_string().starts_with("couldn't start `no-such-editor`: "), "{error}");
        assert!(
            start(&["true".to_owned()], Path::new("/"), Vec::new()).unwrap().wait().await.unwrap().success()
        );
    }
}
