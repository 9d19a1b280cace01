//! The panes of tmux in which agents run: their titles, and how a user names their place.

use crate::system::Pane;
use std::{
    collections::{BTreeSet, HashMap},
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Time limit of one call, which takes 4 ms.
const CALL: Duration = Duration::from_millis(500);
/// Bytes of an answer.
const ANSWER: u64 = 256 << 10;
/// The pane, its place and its title, with tabs between.
const FORMAT: &str = "#{pane_id}\t#{session_name}:#{window_index}.#{pane_index}\t#{pane_title}";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaneFact {
    /// Such as `work:2.1`.
    pub(super) place: String,
    pub(super) title: String,
}

/// Asks each server of tmux for its panes. Blocks.
pub(super) fn list(wanted: &BTreeSet<Pane>) -> HashMap<Pane, PaneFact> {
    let sockets: BTreeSet<&Path> = wanted.iter().map(|pane| pane.socket.as_path()).collect();
    let mut found = HashMap::new();
    for socket in sockets {
        let text = call(socket).unwrap_or_default();
        for (id, fact) in text.lines().filter_map(parsed) {
            found.insert(Pane { socket: socket.to_owned(), id }, fact);
        }
    }
    found
}

fn parsed(line: &str) -> Option<(String, PaneFact)> {
    let mut parts = line.splitn(3, '\t');
    let (id, place, title) = (parts.next()?, parts.next()?, parts.next()?);
    Some((id.to_owned(), PaneFact { place: place.to_owned(), title: title.to_owned() }))
}

fn call(socket: &Path) -> Option<String> {
    let mut child = Command::new("tmux")
        // Without a locale, it would write `_` for our tabs and the marks of titles.
        .arg("-u")
        .arg("-S")
        .arg(socket)
        .args(["list-panes", "-a", "-F", FORMAT])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let began = Instant::now();
    // A server that does not answer must not stop everything. The answer fits into the pipe of most sessions; one that
    // does not is read below.
    let output = child.stdout.take()?;
    let reader = std::thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        output.take(ANSWER).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    });
    while began.elapsed() < CALL {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return reader.ok()?.join().ok()?;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tmux_are_parsed() {
        let fact = |place: &str, title: &str| PaneFact { place: place.to_owned(), title: title.to_owned() };
        let rows = [
            ("%3\twork:2.1\t✦  Working… (ws)", Some(("%3".to_owned(), fact("work:2.1", "✦  Working… (ws)")))),
            ("%3\twork:2.1\ta\tb", Some(("%3".to_owned(), fact("work:2.1", "a\tb")))),
            ("%3\twork:2.1", None),
            ("", None),
        ];
        for (line, expected) in rows {
            assert_eq!(parsed(line), expected, "{line}");
        }
    }
}
