//! Words of questions in six languages, and of code: stop words, stems, splitting and vocabulary.

mod fold;
mod vocabulary;

pub use crate::terms::{
    fold::{is_identifier, subwords},
    vocabulary::{Language, is_han, is_kana, is_unspaced, without_accents},
};
pub use fold::{FoldedText, composed, fold_case};
pub use vocabulary::{synonyms, translations, translations_within};
