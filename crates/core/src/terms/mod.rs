//! Words of questions in six languages, and of code: stop words, stems, splitting and vocabulary.

mod fold;
mod language;
mod split;
mod vocabulary;

pub use fold::{FoldedText, composed, fold_case};
pub use language::{Language, is_han, is_kana, is_unspaced, without_accents};
pub use split::{is_identifier, subwords};
pub use vocabulary::{synonyms, translations, translations_within};
