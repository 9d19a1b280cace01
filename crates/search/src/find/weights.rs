//! The constants of the ranking. They were tuned by random search on five of the ten projects of a benchmark made of
//! real changes (`make bench-answers`) and on a second set of questions about twelve other projects. The other five
//! projects were not used for tuning, but the features were chosen with the results of all ten in view: only projects
//! outside of both sets are an independent check.

use super::{matcher::Fit, query::Origin, role::Role};

/// BM25 over definitions: saturation of repeated words, and the penalty of long chunks.
pub(super) const CHUNK: Bm25 = Bm25 { k1: 1.73, b: 0.173 };
/// BM25 over whole files.
pub(super) const FILE: Bm25 = Bm25 { k1: 1.9, b: 0.32 };

/// Share of the whole file in its score; the rest comes from its best chunks.
pub(super) const WHOLE_FILE: f32 = 0.13;
/// Share of the second and third best chunks of a file.
pub(super) const NEXT_CHUNKS: f32 = 0.426;
/// Exponent of a chunk's or file's share of the question.
pub(super) const COVERAGE: f32 = 0.42;
/// Bonus for words on the same line, as a share of their rarity.
pub(super) const NEARNESS: f32 = 0.4;
/// Exponent of word rarity: below 1, many common words count as much as a few rare ones.
pub(super) const RARITY: f32 = 0.622;
/// Weight of a concept's further alternatives, after the best.
pub(super) const OTHER_WAYS: f32 = 0.194;
/// Boost of larger files, which change more often.
pub(super) const SIZE: f32 = 0.057;

/// Occurrences credited for a word in the definition's name.
pub(super) const SYMBOL: f32 = 2.5;
/// Occurrences credited for a word in the parent definition's name.
pub(super) const PARENT: f32 = 1.9;
/// Occurrences credited for a word in the file name.
pub(super) const FILE_NAME: f32 = 3.56;
/// Occurrences credited for a word in the folder path.
pub(super) const FOLDER: f32 = 0.54;

/// Factor of a chunk of comments, which explains code elsewhere.
pub(super) const ONLY_COMMENT: f32 = 0.11;
/// Factor of a test next to the code that it tests; not tuned, but set like other chunks without behaviour.
pub(super) const TEST_IN_CODE: f32 = 0.2;
/// Share of comment lines above which a chunk counts as a comment.
pub(super) const COMMENT_SHARE: f32 = 0.7;

/// Factor of a changed copy of a file, relative to the better of the two; not tuned, because the benchmark projects
/// have no copies.
pub(super) const COPY: f32 = 0.5;

/// Factor of each further chunk of a file.
pub(super) const SAME_FILE: f32 = 0.9;

/// The two parameters of BM25.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bm25 {
    k1: f32,
    b: f32,
}

impl Bm25 {
    /// Returns the contribution of a word with weighted `frequency` in a text of `length` times the mean length.
    pub(super) fn saturated(self, frequency: f32, length: f32) -> f32 {
        frequency * (self.k1 + 1.0) / (frequency + self.k1 * (1.0 - self.b + self.b * length))
    }

    /// Returns the upper bound of [`saturated`](Self::saturated).
    pub(super) fn most(self) -> f32 {
        self.k1 + 1.0
    }
}

/// Returns the weight of one occurrence.
pub(super) fn fit(fit: Fit) -> f32 {
    match fit {
        Fit::Word => 0.675,
        Fit::Beginning => 0.405,
        Fit::Inside => 0.234,
    }
}

/// Returns the trust in an alternative; `rank` is its position among the synonyms of its concept.
pub(super) fn origin(origin: Origin, rank: usize) -> f32 {
    match origin {
        Origin::Asked => 1.0,
        Origin::Synonym => 0.24 * 0.935_f32.powi(rank as i32),
        Origin::Phrase => 0.194,
    }
}

/// Returns the factor of a file's role.
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

/// Factor of files of a kind that the question asks for.
const WANTED: f32 = 1.2;
