//! Cline's folders: one for its CLI, and one in each editor.

use crate::history::environment::Environment;
use std::path::PathBuf;

const EXTENSION: &str = "User/globalStorage/saoudrizwan.claude-dev";
const EDITORS: [&str; 5] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
/// Folders of editors that are used from another computer.
const SERVERS: [&str; 4] =
    [".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"];
/// Where editors keep their data on macOS.
const MACOS: &str = "Library/Application Support";

pub(super) fn data(environment: &Environment<'_>) -> Option<PathBuf> {
    let home = || environment.folder("CLINE_DIR").or_else(|| environment.beneath_home(".cline"));
    environment.folder("CLINE_DATA_DIR").or_else(|| Some(home()?.join("data")))
}

pub(super) fn others(environment: &Environment<'_>) -> Vec<PathBuf> {
    let linux = environment.folder("XDG_CONFIG_HOME").or_else(|| environment.beneath_home(".config"));
    let data = linux.into_iter().chain(environment.beneath_home(MACOS));
    let editors = data.flat_map(|data| EDITORS.map(|editor| data.join(editor)));
    let servers = SERVERS.iter().filter_map(|server| Some(environment.beneath_home(server)?.join("data")));
    let extensions = editors.chain(servers).map(|editor| editor.join(EXTENSION));
    environment.folder("CLINE_SESSION_DATA_DIR").into_iter().chain(extensions).collect()
}
