//! The tables of the index.

use crate::cache_file::CacheFile;
use openagents_core::history::READER_VERSION;

pub(super) const INDEX: CacheFile = CacheFile {
    what: "the index of other agents' sessions",
    // That of the tables, and that of the readers.
    version: READER_VERSION * 100 + 1,
    tables: TABLES,
};

/// `passages.key` begins with the time of its session, so that the newest matches are found first.
const TABLES: &str = "
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        provider TEXT NOT NULL,
        id TEXT NOT NULL,
        row_json TEXT NOT NULL,
        size INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        upto INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        cut INTEGER NOT NULL,
        UNIQUE (provider, id)
    ) STRICT;
    CREATE TABLE passages (
        key INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        line INTEGER NOT NULL,
        kind INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX passages_of_session ON passages (session);
    CREATE VIRTUAL TABLE words USING fts5(
        text, content = '', contentless_delete = 1, detail = none,
        tokenize = \"unicode61 remove_diacritics 2 tokenchars '_'\"
    );";
