//! Token counts of texts.

/// Counts the tokens of a text: the framework's own count, or [`estimate`].
pub type Counter<'a> = &'a dyn Fn(&str) -> usize;

/// Characters per token in a word of average length. Apple's technical note on the context window (TN3193) states three
/// to four characters, including spaces, for languages in Latin script, and one for Chinese, Japanese and Korean.
const LETTERS: usize = 4;

/// Minimum length of a rare word: a compound, a name, a key.
const RARE: usize = 12;
const RARE_LETTERS: usize = 3;

/// Estimates the tokens of a text, preferring to overestimate: one per four letters of a word, or per three if it is
/// long, one per digit, one per two consecutive signs, one per letter of another script, and three per emoji. A
/// single space belongs to the next word. A tokenizer with a vocabulary of 200,000 counts between half and nine
/// tenths of the estimate.
pub fn estimate(text: &str) -> usize {
    let mut tokens = 0;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let kind = Kind::of(char);
        let mut length = 1;
        while chars.next_if(|next| Kind::of(*next) == kind).is_some() {
            length += 1;
        }
        tokens += match kind {
            Kind::Letter if length >= RARE => length.div_ceil(RARE_LETTERS),
            Kind::Letter => length.div_ceil(LETTERS),
            Kind::Sign => length.div_ceil(2),
            Kind::Space => (length - 1).div_ceil(4),
            Kind::Digit | Kind::Script | Kind::Break => length,
            Kind::Rare => 3 * length,
        };
    }
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// ASCII letters.
    Letter,
    Digit,
    Space,
    /// Code symbols and punctuation.
    Sign,
    /// Line breaks, tabs and invisible characters.
    Break,
    /// Letters with accents, or of another script.
    Script,
    /// Everything else: emoji, mathematical symbols, joiners.
    Rare,
}

impl Kind {
    fn of(char: char) -> Self {
        match char {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            ' ' => Self::Space,
            _ if char.is_ascii_punctuation() => Self::Sign,
            _ if char.is_ascii() => Self::Break,
            _ if char.is_alphanumeric() => Self::Script,
            _ => Self::Rare,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ours;
    use proptest::prelude::*;

    #[test]
    fn an_estimate_is_never_below_what_a_tokenizer_counts() {
        let vocabulary = tiktoken_rs::o200k_base().unwrap();
        let schemas = include_str!("../schema/corpus/mcp_tools.json");
        let specs = serde_json::to_string(&ours()).unwrap();
        let texts = [
            include_str!("tokens.rs"),
            include_str!("../../../../LICENSE"),
            schemas,
            &specs,
            "Die Donaudampfschifffahrtsgesellschaft hatte im Übrigen keine Äpfel; straße für straße.",
            "この関数は何をしますか。ファイルを読んで、要約してください。",
            "이 함수는 무엇을 합니까? 这个函数是做什么的？ Что делает эта функция?",
            "🦊🦊🦊 emoji 👩‍👩‍👧‍👦 and zero\u{200b}width",
            "0x7fffdeadbeef 3.14159265358979 550e8400-e29b-41d4-a716-446655440000",
            "\t\t\tif (a&&b||!c) {return{...x,[y]:z}}\n\n\n",
        ];
        for text in texts {
            let (counted, estimated) = (vocabulary.encode_ordinary(text).len(), estimate(text));
            assert!(estimated >= counted, "{estimated} < {counted}: {text}");
            assert!(estimated <= 3 * counted, "{estimated} for {counted}: {text}");
        }
    }

    proptest! {
        #[test]
        fn two_texts_have_no_more_tokens_than_each_of_them(one in ".{0,40}", other in ".{0,40}") {
            let both = estimate(&format!("{one}{other}"));
            prop_assert!(both <= estimate(&one) + estimate(&other) + 1);
        }
    }
}
