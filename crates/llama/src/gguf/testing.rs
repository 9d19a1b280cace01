//! Writes small GGUF files for tests.

/// A file with configurable parts.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) version: u32,
    pub(crate) pairs: Vec<(String, Pair)>,
    pub(crate) data: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Pair {
    U32(u32),
    Text(&'static str),
    Texts(usize),
    Numbers(Vec<u32>),
}

impl Draft {
    /// The shape of gpt-oss-20b, almost without weights.
    pub(crate) fn gpt_oss() -> Self {
        let pairs = [
            ("general.architecture", Pair::Text("gpt-oss")),
            ("general.name", Pair::Text("Gpt Oss 20b")),
            ("general.file_type", Pair::U32(38)),
            ("gpt-oss.block_count", Pair::U32(24)),
            ("gpt-oss.context_length", Pair::U32(131_072)),
            ("gpt-oss.embedding_length", Pair::U32(2_880)),
            ("gpt-oss.attention.head_count", Pair::U32(64)),
            ("gpt-oss.attention.head_count_kv", Pair::U32(8)),
            ("gpt-oss.attention.key_length", Pair::U32(64)),
            ("gpt-oss.attention.value_length", Pair::U32(64)),
            ("gpt-oss.attention.sliding_window", Pair::U32(128)),
            ("tokenizer.ggml.tokens", Pair::Texts(300)),
            ("tokenizer.chat_template", Pair::Text("{{ messages }}")),
        ];
        let pairs = pairs.into_iter().map(|(key, pair)| (key.to_owned(), pair)).collect();
        Self { version: 3, pairs, data: 4_096 }
    }

    pub(crate) fn with(mut self, key: &str, pair: Pair) -> Self {
        self.pairs.retain(|(other, _)| other != key);
        self.pairs.push((key.to_owned(), pair));
        self
    }

    /// Serializes the header and one tensor of floats.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend(1_u64.to_le_bytes());
        out.extend((self.pairs.len() as u64).to_le_bytes());
        for (key, pair) in &self.pairs {
            text(&mut out, key);
            match pair {
                Pair::U32(number) => {
                    out.extend(4_u32.to_le_bytes());
                    out.extend(number.to_le_bytes());
                }
                Pair::Text(words) => {
                    out.extend(8_u32.to_le_bytes());
                    text(&mut out, words);
                }
                Pair::Texts(count) => {
                    out.extend(9_u32.to_le_bytes());
                    out.extend(8_u32.to_le_bytes());
                    out.extend((*count as u64).to_le_bytes());
                    (0..*count).for_each(|index| text(&mut out, &format!("t{index}")));
                }
                Pair::Numbers(numbers) => {
                    out.extend(9_u32.to_le_bytes());
                    out.extend(4_u32.to_le_bytes());
                    out.extend((numbers.len() as u64).to_le_bytes());
                    numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
                }
            }
        }
        text(&mut out, "output.weight");
        out.extend(1_u32.to_le_bytes());
        out.extend((self.data as u64 / 4).to_le_bytes());
        out.extend(0_u32.to_le_bytes());
        out.extend(0_u64.to_le_bytes());
        out.resize(out.len().next_multiple_of(32) + self.data, 0);
        out
    }
}

fn text(out: &mut Vec<u8>, words: &str) {
    out.extend((words.len() as u64).to_le_bytes());
    out.extend(words.as_bytes());
}
