//! Text as found in agents' logs: few words are frequent, most are rare, and tool output has line breaks and quotes.

/// A small pseudo-random number generator (xorshift64*), so that every machine generates the same bytes.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below.max(1)
    }
}

/// Number of distinct words: a developer's English and the identifiers of some projects.
const VOCABULARY: usize = 40_000;
/// Bytes of prose, and of output, from which passages are cut.
const POOL: usize = 16 << 20;

/// Texts to cut passages from. Everything that needs escaping in JSON is already escaped.
#[derive(Debug)]
pub(crate) struct Pool {
    prose: String,
    output: String,
    pub(crate) words: Vec<String>,
}

impl Pool {
    pub(crate) fn new() -> Self {
        let mut dice = Dice::new(1);
        let words: Vec<String> = (0..VOCABULARY).map(|at| word(&mut dice, at)).collect();
        let (mut prose, mut output) = (String::with_capacity(POOL), String::with_capacity(POOL));
        while prose.len() < POOL {
            prose.push_str(zipf(&words, &mut dice));
            prose.push_str(if dice.roll(12) == 0 { ". " } else { " " });
        }
        while output.len() < POOL {
            match dice.roll(10) {
                0 => output.push_str("\\n    "),
                1 => output.push_str(" = \\\"value\\\"; "),
                _ => output.push_str(zipf(&words, &mut dice)),
            }
            output.push(' ');
        }
        Self { prose, output, words }
    }

    /// Returns `bytes` bytes of prose.
    pub(crate) fn prose(&self, dice: &mut Dice, bytes: usize) -> &str {
        cut(&self.prose, dice, bytes)
    }

    /// Returns `bytes` bytes of a tool's output.
    pub(crate) fn output(&self, dice: &mut Dice, bytes: usize) -> &str {
        cut(&self.output, dice, bytes)
    }
}

fn cut<'a>(text: &'a str, dice: &mut Dice, bytes: usize) -> &'a str {
    let from = dice.roll(text.len() - bytes - 1);
    let space = |at: usize| text[at..].find(' ').map_or(text.len(), |space| at + space);
    text[space(from)..space(from + bytes)].trim()
}

/// Returns a word, roughly following Zipf's law: the logarithm of its rank is uniformly distributed.
fn zipf<'a>(words: &'a [String], dice: &mut Dice) -> &'a str {
    let even = dice.roll(1 << 20) as f64 / f64::from(1 << 20);
    let rank = (words.len() as f64).powf(even) as usize;
    &words[rank.min(words.len() - 1)]
}

fn word(dice: &mut Dice, at: usize) -> String {
    const SYLLABLES: [&str; 24] = [
        "se", "ta", "ri", "con", "ver", "mo", "del", "in", "put", "re", "qu", "lo", "ad", "per", "form",
        "tion", "ex", "de", "ca", "che", "li", "st", "wor", "king",
    ];
    let syllables = |dice: &mut Dice, count: usize| -> String {
        (0..count).map(|_| SYLLABLES[dice.roll(SYLLABLES.len())]).collect()
    };
    let long = 1 + (at + 1).ilog10() as usize;
    let first = syllables(dice, long.min(3));
    match at % 5 {
        // Every fifth word is an identifier.
        0 => {
            let second = syllables(dice, 2);
            let (head, tail) = second.split_at(1);
            format!("{first}{}{tail}", head.to_uppercase())
        }
        1 => format!("{first}_{}", syllables(dice, 2)),
        _ => first,
    }
}
