//! Runs each agent's fixtures through the index: lists them, opens them, finds them by a word, and reads the line
//! found.

use super::index::HistoryIndex;
use crate::history::{
    EventKind, History, HistoryRoots, MemoryListingCache, Part, Provider, Query, SearchQuery, query_words,
};
use openagents_core::{CancellationToken, budget::Budget};
use std::{fs, path::Path, sync::Arc, time::Duration};

const NOW: i64 = 1_793_500_000_000;

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

/// Copies the fixtures of an agent; those that end in `.sql` become a database.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            let database = rusqlite::Connection::open(to.with_extension("")).unwrap();
            database.execute_batch(&fs::read_to_string(&path).unwrap()).unwrap();
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn sessions_of_every_agent_are_indexed() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents");
    for provider in Provider::ALL {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("agent");
        copy(&fixtures.join(provider.as_str()), &root);
        let history = History::new(
            HistoryRoots::default().with(provider, root),
            Arc::new(MemoryListingCache::default()),
        );
        let index = HistoryIndex::open(&folder.path().join("home")).unwrap();
        index.update(&history, &CancellationToken::new(), &mut |_| true).unwrap();
        let index = Arc::new(index);
        let history = history.with_words(index.clone());

        let listed = history.list(&Query::default(), &budget()).rows;
        assert!(!listed.is_empty(), "{provider:?} lists nothing");
        let mut found = 0;
        for row in &listed {
            let opened = history.part(row, Part::End, 1 << 20, &budget()).unwrap();
            let prompts = opened
                .events
                .iter()
                .filter(|event| event.kind == EventKind::Prompt && !event.copied && !event.undone);
            for prompt in prompts {
                let words = query_words(&prompt.text).into_iter().flat_map(|word| word.forms.concat());
                let Some(word) = words.max_by_key(String::len) else { continue };
                let matches = index.search(&format!("{word} "), 50, NOW, None, &history).unwrap();
                let is_it = |session: &str| session == row.id;
                let passage = matches.passages.iter().find(|passage| is_it(&passage.session.id));
                let name = format!("{provider:?} {}: {word:?} of line {}", row.id, prompt.line);
                let passage = passage.unwrap_or_else(|| panic!("{name} is not found"));
                // A match of a title shows the title.
                let shown = passage.snippet.as_ref().or(row.title.as_ref()).unwrap();
                assert!(shown.to_lowercase().contains(&word), "{name}: {shown}");
                let query = SearchQuery {
                    pattern: word.clone(),
                    sessions: vec![row.id.clone()],
                    max_matches: usize::MAX,
                    line_chars: usize::MAX,
                    ..SearchQuery::default()
                };
                // Reads only the lines that the index lists: no bytes of a whole log are allowed.
                let lines = history.search(&query, &budget(), &budget(), &()).unwrap().matches;
                let line =
                    lines.iter().find(|line| line.line_number == prompt.line && line.session_id == row.id);
                let line = &line.unwrap_or_else(|| panic!("{name} is not searched")).line;
                assert!(line.to_lowercase().contains(&word), "{name}: {line}");
                // The part that a link to the line shows.
                let around = history.part(row, Part::Around(prompt.line), 1 << 20, &budget()).unwrap();
                assert!(
                    around.events.iter().any(|event| event.line == prompt.line && event.text == prompt.text)
                );
                found += 1;
            }
        }
        assert!(found > 0, "{provider:?} has no prompt");
    }
}
