//! Words of questions in six languages, and of code: stop words, stems, splitting and vocabulary.

mod fold;
mod language;
mod split;
mod vocabulary;

pub(crate) use fold::{FoldedText, composed, fold_case};
pub(crate) use language::{Language, is_han, is_kana, is_unspaced, without_accents};
pub(crate) use split::{is_identifier, subwords};
pub(crate) use vocabulary::{synonyms, translations, translations_within};
