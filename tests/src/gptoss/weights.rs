//! Weights that follow rules: a transformer of two layers, wired by hand.
//!
//! Every [`Sight`] has its own dimension in the residual stream. The embedding of a token sets its dimension. The first
//! layer (sliding window) attends to the previous token and sets `Previous`; the second (full attention) has one head
//! for each `Seen`. The output matrix holds the rules. The experts are random, and too small to have an effect.

use super::{
    gguf::{BLOCK, Gguf},
    script::{Rule, Sight},
    vocabulary::TOKENS,
};
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};

const HEADS: usize = 4;
const HEAD_SIZE: usize = 32;
const EXPERTS: usize = 4;
const FEED_FORWARD: usize = 64;
const ROPE_BASE: f32 = 150_000.0;

/// Factor for a rule's weight, so that sampling at temperature 1 follows the rules too.
const LOUDNESS: f32 = 3.0;

/// The shape of the network for a set of rules.
pub(super) struct Network<'a> {
    rules: &'a [Rule],
    dimensions: BTreeMap<Sight, usize>,
    width: usize,
}

/// The matrices of one attention layer; `[input, output]`, inputs first.
struct Attention {
    query_bias: Vec<f32>,
    key: Vec<f32>,
    key_bias: Vec<f32>,
    value: Vec<f32>,
    output: Vec<f32>,
    sinks: Vec<f32>,
}

impl<'a> Network<'a> {
    pub(super) fn new(rules: &'a [Rule]) -> Result<Self> {
        let mut sights = BTreeSet::new();
        for rule in rules {
            let (Sight::Token(token) | Sight::Previous(token) | Sight::Seen(token)) = rule.sight;
            sights.extend([rule.sight, Sight::Token(token)]);
        }
        let seen = sights.iter().filter(|sight| matches!(sight, Sight::Seen(_))).count();
        ensure!(seen <= HEADS, "the rules look for {seen} tokens anywhere; there are {HEADS} heads");
        let previous = sights.iter().filter(|sight| matches!(sight, Sight::Previous(_))).count();
        ensure!(
            previous <= HEAD_SIZE,
            "the rules look for {previous} tokens before; a head has {HEAD_SIZE} values"
        );
        let width = sights.len().next_multiple_of(BLOCK).max(64);
        Ok(Self { rules, dimensions: sights.into_iter().zip(0..).collect(), width })
    }

    pub(super) fn write(&self, gguf: &mut Gguf) {
        self.write_metadata(gguf);
        let width = self.width;
        let (mut embedding, mut output) = (BTreeMap::new(), BTreeMap::new());
        for (sight, dimension) in &self.dimensions {
            if let Sight::Token(token) = sight {
                let mut row = vec![0.0; width];
                row[*dimension] = 1.0;
                embedding.insert(*token, row);
            }
        }
        for rule in self.rules {
            let row = output.entry(rule.next).or_insert_with(|| vec![0f32; width]);
            row[self.dimensions[&rule.sight]] += LOUDNESS * rule.weight;
        }
        for (name, rows) in [("token_embd.weight", embedding), ("output.weight", output)] {
            let rows = (0..TOKENS).map(|token| rows.get(&token).map(Vec::as_slice));
            gguf.q8_rows(name, [width, TOKENS as usize], rows);
        }
        gguf.floats("output_norm.weight", &[width], &vec![1.0; width]);
        let mut seed = 0x9E37_79B9_7F4A_7C15;
        for (layer, attention) in [self.look_back(), self.look_everywhere()].iter().enumerate() {
            self.write_attention(gguf, layer, attention);
            self.write_experts(gguf, layer, &mut seed);
        }
    }

    fn write_metadata(&self, gguf: &mut Gguf) {
        let numbers = [
            ("context_length", 131_072),
            ("embedding_length", self.width),
            ("block_count", 2),
            ("attention.head_count", HEADS),
            ("attention.head_count_kv", 1),
            ("attention.key_length", HEAD_SIZE),
            ("attention.value_length", HEAD_SIZE),
            ("attention.sliding_window", 128),
            ("feed_forward_length", FEED_FORWARD),
            ("expert_feed_forward_length", FEED_FORWARD),
            ("expert_count", EXPERTS),
            ("expert_used_count", EXPERTS),
            ("rope.scaling.original_context_length", 4096),
            ("vocab_size", TOKENS as usize),
        ];
        for (key, value) in numbers {
            gguf.u32(&format!("gpt-oss.{key}"), value as u32);
        }
        gguf.f32("gpt-oss.attention.layer_norm_rms_epsilon", 1e-5);
        gguf.f32("gpt-oss.rope.freq_base", ROPE_BASE);
        gguf.string("gpt-oss.rope.scaling.type", "yarn");
        gguf.f32("gpt-oss.rope.scaling.factor", 32.0);
    }

    fn attention(&self, sink: f32) -> Attention {
        Attention {
            query_bias: vec![0.0; HEADS * HEAD_SIZE],
            key: vec![0.0; HEAD_SIZE * self.width],
            key_bias: vec![0.0; HEAD_SIZE],
            value: vec![0.0; HEAD_SIZE * self.width],
            output: vec![0.0; self.width * HEADS * HEAD_SIZE],
            sinks: vec![sink; HEADS],
        }
    }

    /// Returns the factor that makes a value 1 again after the norm of a vector with a single 1 in it.
    fn unit(&self) -> f32 {
        1.0 / (self.width as f32).sqrt()
    }

    /// Head 0 attends to the previous token: its queries are rotated by one position, in
    /// the fast pairs of the rotation.
    fn look_back(&self) -> Attention {
        let mut attention = self.attention(-1e4);
        for pair in 0..5 {
            let angle = ROPE_BASE.powf(-2.0 * pair as f32 / HEAD_SIZE as f32);
            attention.key_bias[pair] = 12.0;
            attention.query_bias[pair] = 12.0 * angle.cos();
            attention.query_bias[pair + HEAD_SIZE / 2] = -12.0 * angle.sin();
        }
        let previous = self.dimensions.iter().filter_map(|(sight, dimension)| match sight {
            Sight::Previous(token) => Some((self.dimensions[&Sight::Token(*token)], *dimension)),
            _ => None,
        });
        for (value, (from, to)) in previous.enumerate() {
            attention.value[value * self.width + from] = self.unit();
            attention.output[to * HEADS * HEAD_SIZE + value] = 1.0;
        }
        attention
    }

    /// Each head attends to one token at any position, in a slow pair of the rotation, and to the sink if it is absent.
    fn look_everywhere(&self) -> Attention {
        let mut attention = self.attention(20.0);
        let seen = self.dimensions.iter().filter_map(|(sight, dimension)| match sight {
            Sight::Seen(token) => Some((self.dimensions[&Sight::Token(*token)], *dimension)),
            _ => None,
        });
        for (head, (from, to)) in seen.enumerate() {
            let pair = HEAD_SIZE / 2 - 1 - head;
            attention.query_bias[head * HEAD_SIZE + pair] = 10.0;
            attention.key[pair * self.width + from] = 32.0 * self.unit();
            attention.value[head * self.width + from] = self.unit();
            attention.output[to * HEADS * HEAD_SIZE + head * HEAD_SIZE + head] = 1.0;
        }
        attention
    }

    fn write_attention(&self, gguf: &mut Gguf, layer: usize, attention: &Attention) {
        let (width, heads) = (self.width, HEADS * HEAD_SIZE);
        let name = |part: &str| format!("blk.{layer}.{part}");
        for norm in ["attn_norm", "post_attention_norm"] {
            gguf.floats(&name(&format!("{norm}.weight")), &[width], &vec![1.0; width]);
        }
        (vec![0.0; heads * width], [0.0; HEAD_SIZE], vec![0.0; width]);
        let mut linear = |part: &str, shape: [usize; 2], weights: &[f32], bias: &[f32]| {
            gguf.q8_rows(&name(&format!("{part}.weight")), shape, weights.chunks(shape[0]).map(Some));
            gguf.floats(&name(&format!("{part}.bias")), &[shape[1]], bias);
        };
        linear("attn_q", [width, heads], &vec![0.0; heads * width], &attention.query_bias);
        linear("attn_k", [width, HEAD_SIZE], &attention.key, &attention.key_bias);
        linear("attn_v", [width, HEAD_SIZE], &attention.value, &[0.0; HEAD_SIZE]);
        linear("attn_output", [heads, width], &attention.output, &vec![0.0; width]);
        gguf.floats(&name("attn_sinks.weight"), &[HEADS], &attention.sinks);
    }

    fn write_experts(&self, gguf: &mut Gguf, layer: usize, seed: &mut u64) {
        let width = self.width;
        let name = |part: &str| format!("blk.{layer}.{part}");
        gguf.floats(&name("ffn_gate_inp.weight"), &[width, EXPERTS], &vec![0.0; width * EXPERTS]);
        gguf.floats(&name("ffn_gate_inp.bias"), &[EXPERTS], &[0.0; EXPERTS]);
        let parts = [
            ("ffn_gate_exps", width, FEED_FORWARD, 122),
            ("ffn_up_exps", width, FEED_FORWARD, 122),
            ("ffn_down_exps", FEED_FORWARD, width, 115),
        ];
        for (part, inputs, outputs, exponent) in parts {
            let shape = [inputs, outputs, EXPERTS];
            gguf.random_mxfp4(&name(&format!("{part}.weight")), &shape, exponent, seed);
            gguf.floats(&name(&format!("{part}.bias")), &[outputs, EXPERTS], &vec![0.0; outputs * EXPERTS]);
        }
    }
}
