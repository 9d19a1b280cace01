//! The tables of the index.

use crate::{cache_file::CacheFile, history::READER_VERSION};

pub(super) const INDEX: CacheFile = CacheFile {
    what: "the index of other agents' sessions",
    // Combines the version of the tables with that of the readers.
    version: READER_VERSION * 100 + 8,
    tables: TABLES,
};

/// A passage has no row: its number in `words` identifies it (see `place.rs`). Its words are folded, and all characters
/// except spaces belong to them. `states` has what a search reads of every session, without the long `row_json`.
/// `terms` has the words that prefixes expand to, and the number of sessions that contain them: FTS5 would read all
/// passages of each. `texts` says where their texts are: `offset` is the offset of the line in a file of lines, `lines`
/// are some lines of another file.
const TABLES: &str = "
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        provider TEXT NOT NULL,
        id TEXT NOT NULL,
        row_json TEXT NOT NULL,
        title TEXT,
        cwd TEXT,
        size INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        upto INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        cut INTEGER NOT NULL,
        UNIQUE (provider, id)
    ) STRICT;
    CREATE INDEX states ON sessions (key, updated_at, cwd, provider, id, size, cut, upto);
    CREATE TABLE terms (
        term TEXT PRIMARY KEY,
        sessions INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE texts (
        place INTEGER PRIMARY KEY,
        offset INTEGER,
        lines BLOB
    ) STRICT;
    CREATE VIRTUAL TABLE words USING fts5(
        text, content = '', contentless_delete = 1, detail = none,
        tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\"
    );";
