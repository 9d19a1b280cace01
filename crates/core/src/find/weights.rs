//! The numbers of the ranking, in one place. They were tuned by random search on five of the ten projects of a measure
//! made of real changes (`make bench-answers`) and on a second set of questions about twelve other projects. The other
//! five took no part in that, but the features themselves were chosen with the figures of all ten in sight: only projects
//! outside of both sets are a clean check.

use super::{matcher::Fit, query::Origin, role::Role};

/// BM25 over definitions: how soon more of the same word counts no more, and how much long chunks stand back.
pub(super) const CHUNK: Bm25 = Bm25 { k1: 1.73, b: 0.173 };
/// BM25 over whole files.
pub(super) const FILE: Bm25 = Bm25 { k1: 1.9, b: 0.32 };

/// Share of the whole file in its score; the rest is its best chunks'.
pub(super) const WHOLE_FILE: f32 = 0.13;
/// What the second and third best chunks of a file add to the best.
pub(super) const NEXT_CHUNKS: f32 = 0.426;
/// Exponent of the share of the question that a chunk or a file covers.
pub(super) const COVERAGE: f32 = 0.42;
/// What words on one line add, as a share of their rarity.
pub(super) const NEARNESS: f32 = 0.4;
/// Exponent of the rarity of words: below 1, many common words count as much as a few rare ones.
pub(super) const RARITY: f32 = 0.622;
/// What further ways to say the same add to the best of them.
pub(super) const OTHER_WAYS: f32 = 0.194;
/// How much larger files are preferred: they are changed more often.
pub(super) const SIZE: f32 = 0.057;

/// Occurrences that a word in the name of the definition stands for.
pub(super) const SYMBOL: f32 = 2.5;
/// In the name of the definition around it.
pub(super) const PARENT: f32 = 1.9;
/// In the name of the file.
pub(super) const FILE_NAME: f32 = 3.56;
/// In the path of its folder.
pub(super) const FOLDER: f32 = 0.54;

/// A chunk that is almost all comment explains code that is elsewhere.
pub(super) const ONLY_COMMENT: f32 = 0.11;
/// A test beside the code that it tests; not tuned, but set to what other chunks without behaviour get.
pub(super) const TEST_IN_CODE: f32 = 0.2;
/// Share of comment lines from which a chunk is almost all comment.
pub(super) const COMMENT_SHARE: f32 = 0.7;

/// Of a file's further chunks, each counts less than the one before.
pub(super) const SAME_FILE: f32 = 0.9;

/// The two parameters of BM25.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bm25 {
    k1: f32,
    b: f32,
}

impl Bm25 {
    /// Returns how much a word says that occurs `frequency` times (weighted) in a text `length` times as long as the mean.
    pub(super) fn saturated(self, frequency: f32, length: f32) -> f32 {
        frequency * (self.k1 + 1.0) / (frequency + self.k1 * (1.0 - self.b + self.b * length))
    }

    /// Returns the most that [`saturated`](Self::saturated) can be.
    pub(super) fn most(self) -> f32 {
        self.k1 + 1.0
    }
}

/// Returns what one occurrence counts.
pub(super) fn fit(fit: Fit) -> f32 {
    match fit {
        Fit::Word => 0.675,
        Fit::Beginning => 0.405,
        Fit::Inside => 0.234,
    }
}

/// Returns the trust in an alternative; `rank` is its place among the synonyms of its concept.
pub(super) fn origin(origin: Origin, rank: usize) -> f32 {
    match origin {
        Origin::Asked => 1.0,
        Origin::Synonym => 0.24 * 0.935_f32.powi(rank as i32),
        Origin::Phrase => 0.194,
    }
}

/// Returns the factor of a file by what it is for.
pub(super) fn role(role: Role, wants: super::query::Wants) -> f32 {
    match role {
        Role::Test if wants.tests => WANTED,
        Role::Documentation if wants.documentation => WANTED,
        Role::Example if wants.examples => WANTED,
        Role::Code => 1.0,
        Role::Declarations => 0.29,
        Role::Test => 0.04,
        Role::Documentation => 0.07,
        Role::Other => 0.08,
        Role::Example => 0.035,
        Role::Generated => 0.1,
        Role::Benchmark => 0.026,
    }
}

/// Factor of files that the question asks for by their kind.
const WANTED: f32 = 1.2;
