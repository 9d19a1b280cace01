//! The second pass: reads the best files again, splits them into chunks and ranks the chunks.
//!
//! The function is BM25F (Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009): occurrences in names,
//! paths and text are weighted and added before saturation. A concept scores as its best alternative.

use super::{
    boosts::Boosts,
    chunk::{self, Chunk, is_prologue},
    matcher::{self, Bm25, Fit, Hit, Matcher, Stems},
    query::FindQuery,
    scan::{self, Scan, ScannedFile},
};
use crate::definition::extension;
use openagents_core::{budget::Budget, parallel, workspace::Workspace};
use std::{collections::BTreeMap, path::Path};

/// Number of files read a second time.
const CANDIDATES: usize = 300;

/// Maximum number of chunks kept per file.
const CHUNKS: usize = 6;

/// Maximum number of lines kept per chunk: a few may be imports.
const BEST_LINES: usize = 8;

const THREADS: usize = 4;

/// Shortest word reported as missing, in characters.
const MISSING: usize = 4;

/// A file with its best chunks.
#[derive(Debug)]
pub(super) struct RankedFile {
    pub(super) path: String,
    pub(super) score: f32,
    /// Best first.
    pub(super) chunks: Vec<RankedChunk>,
    pub(super) text: Vec<u8>,
    /// First and last line of every chunk, from 0, in order.
    pub(super) bounds: Vec<(usize, usize)>,
    /// Alternatives in its text or path, sorted.
    pub(super) matched: Vec<u16>,
}

#[derive(Debug, Clone)]
pub(super) struct RankedChunk {
    pub(super) score: f32,
    /// Index into [`RankedFile::bounds`].
    pub(super) at: usize,
    pub(super) symbol: String,
    /// The query names the symbol.
    pub(super) is_named: bool,
    /// The line with the symbol's name, from 0; the first line without a symbol.
    pub(super) head: usize,
    /// The lines, from 0, that hold most of what is sought, best first.
    pub(super) best_lines: Vec<usize>,
    /// It consists almost only of comments.
    pub(super) is_comment: bool,
    /// It consists almost only of imports.
    pub(super) is_prologue: bool,
    /// Matched alternatives, most significant first.
    pub(super) matched: Vec<u16>,
    /// Hits with their byte offsets, for quoting the words.
    pub(super) hits: Vec<Hit>,
}

/// Rarity of the query words in this workspace.
struct Rarity<'a> {
    query: &'a FindQuery,
    /// By alternative: rarity times trust times the concept's weight.
    ways: Vec<f32>,
    /// By concept: the maximum contribution.
    concepts: Vec<f32>,
    all: f32,
}

/// Returns the words of a question that no file contains in any form, if they are more than half of it.
pub(super) fn missing(scan: &Scan, query: &FindQuery) -> Vec<String> {
    let rarity = Rarity::new(scan, query);
    let spoken: Vec<(usize, &str)> = query.spoken().filter(|(_, word)| word.is_ascii()).collect();
    let is_missing = |at: usize| rarity.concepts[at] == 0.0;
    // An absent word has maximum rarity.
    let rarest = (2.0 * scan.total.max(1) as f32).ln().powf(matcher::RARITY);
    let weight =
        |at: usize| if is_missing(at) { rarest * query.concepts[at].weight } else { rarity.concepts[at] };
    let (all, gone) = spoken.iter().fold((0.0, 0.0), |(all, gone), (at, _)| {
        (all + weight(*at), gone + if is_missing(*at) { weight(*at) } else { 0.0 })
    });
    let missing = spoken.iter().filter(|(at, word)| is_missing(*at) && word.len() >= MISSING);
    let missing = missing.map(|(_, word)| (*word).to_owned());
    if gone > all / 2.0 { missing.take(3).collect() } else { Vec::new() }
}

/// Ranks the files of a scan, best first.
pub(super) fn rank(
    scan: &mut Scan,
    query: &FindQuery,
    matcher: &Matcher,
    workspace: &Workspace,
    boosts: &Boosts,
    budget: &Budget,
) -> Vec<RankedFile> {
    let rarity = Rarity::new(scan, query);
    let mean_file = scan.bytes as f32 / scan.total.max(1) as f32;
    let preliminary = |file: &ScannedFile| {
        let mut counts = in_path(file, query.alternatives.len());
        for (at, count) in &file.counts {
            counts[*at as usize] += count;
        }
        let (score, coverage) = rarity.score(&counts, matcher::FILE, file.bytes as f32 / mean_file);
        score
            * coverage.powf(matcher::COVERAGE)
            * matcher::role(file.role, query.wants)
            * boosts.factor(&file.path)
    };
    let mut candidates: Vec<(f32, ScannedFile)> =
        scan.files.drain(..).map(|file| (preliminary(&file), file)).collect();
    candidates.sort_by(|(a, file), (b, other)| b.total_cmp(a).then_with(|| file.path.cmp(&other.path)));
    candidates.truncate(CANDIDATES);
    let read = read_all(&candidates, query, matcher, workspace, budget);
    let (bytes, chunks) = read
        .iter()
        .flatten()
        .flat_map(|file| &file.chunks)
        .fold((0.0, 0.0), |(bytes, chunks), chunk| (bytes + chunk.bytes, chunks + 1.0_f32));
    let mean_chunk = bytes / chunks.max(1.0);
    let mut ranked: Vec<RankedFile> = candidates
        .into_iter()
        .zip(read)
        .filter_map(|((_, file), read)| {
            let mut ranked = rarity.rank_file(&file, read?, mean_file, mean_chunk);
            ranked.score *= matcher::role(file.role, query.wants) * boosts.factor(&file.path);
            (ranked.score > 0.0 && !ranked.chunks.is_empty()).then_some(ranked)
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
    ranked
}

/// A file in the second pass.
struct ReadFile {
    text: Vec<u8>,
    chunks: Vec<ReadChunk>,
}

struct ReadChunk {
    start: usize,
    end: usize,
    head: usize,
    symbol: String,
    in_symbol: Vec<u16>,
    in_parent: Vec<u16>,
    /// Bytes without indentation.
    bytes: f32,
    is_comment: bool,
    /// It consists almost only of imports.
    is_prologue: bool,
    is_test: bool,
    hits: Vec<Hit>,
    /// Lines, from 0, with the bit set of the concepts in them.
    lines: Vec<(usize, u64)>,
}

fn read_all(
    candidates: &[(f32, ScannedFile)],
    query: &FindQuery,
    matcher: &Matcher,
    workspace: &Workspace,
    budget: &Budget,
) -> Vec<Option<ReadFile>> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(THREADS);
    parallel::map(
        candidates.len(),
        threads,
        || !budget.spent(),
        Stems::new,
        |stems, at| {
            let (_, file) = &candidates[at];
            let read = scan::read_text(workspace, Path::new(&file.path))?;
            Some(read_file(file, read.text, query, matcher, stems))
        },
    )
}

fn read_file(
    file: &ScannedFile,
    text: Vec<u8>,
    query: &FindQuery,
    matcher: &Matcher,
    stems: &mut Stems,
) -> ReadFile {
    let shown = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = shown.lines().collect();
    let kind = extension(&file.path);
    let mut chunks: Vec<ReadChunk> = chunk::chunks(&lines, kind, file.role.is_code(kind))
        .into_iter()
        .map(|chunk| ReadChunk::new(&chunk, &lines, query))
        .collect();
    let starts: Vec<usize> =
        std::iter::once(0).chain(memchr::memchr_iter(b'\n', shown.as_bytes()).map(|at| at + 1)).collect();
    let mut concepts: Vec<BTreeMap<usize, u64>> = vec![BTreeMap::new(); chunks.len()];
    for hit in matcher.hits(shown.as_bytes(), stems) {
        let line = starts.partition_point(|start| *start <= hit.at) - 1;
        let at = chunks.partition_point(|chunk| chunk.end < line);
        let Some(chunk) = chunks.get_mut(at) else { continue };
        chunk.hits.push(hit);
        if hit.fit != Fit::Inside {
            let concept = query.alternatives[hit.alternative as usize].concept;
            *concepts[at].entry(line).or_default() |= 1 << concept;
        }
    }
    for (chunk, concepts) in chunks.iter_mut().zip(concepts) {
        chunk.lines = concepts.into_iter().collect();
    }
    let text = match shown {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(repaired) => repaired.into_bytes(),
    };
    ReadFile { text, chunks }
}

impl ReadChunk {
    fn new(chunk: &Chunk<'_>, lines: &[&str], query: &FindQuery) -> Self {
        let own = &lines[chunk.start..=chunk.end];
        let is_comment = |line: &&&str| {
            let text = line.trim_start();
            text.starts_with("//") || text.starts_with('*') || text.starts_with("/*")
        };
        let comments = own.iter().filter(is_comment).count();
        let named = |name: &str| if name.is_empty() { Vec::new() } else { scan::named(name, query) };
        Self {
            start: chunk.start,
            end: chunk.end,
            head: chunk.head,
            symbol: chunk.symbol.to_owned(),
            in_symbol: named(chunk.symbol),
            in_parent: named(chunk.parent),
            bytes: own.iter().map(|line| line.trim().len()).sum::<usize>() as f32,
            is_comment: comments as f32 / own.len() as f32 > matcher::COMMENT_SHARE,
            is_prologue: own.iter().filter(|line| is_prologue(line)).count() * 2 > own.len(),
            is_test: is_test(chunk.symbol) || is_test(chunk.parent),
            hits: Vec::new(),
            lines: Vec::new(),
        }
    }
}

impl<'a> Rarity<'a> {
    fn new(scan: &Scan, query: &'a FindQuery) -> Self {
        let mut holding = vec![0.0_f32; query.alternatives.len()];
        for file in &scan.files {
            let mut fits = vec![0.0_f32; holding.len()];
            for (at, fit) in &file.fits {
                fits[*at as usize] = *fit;
            }
            for at in file.in_path.name.iter().chain(&file.in_path.folder) {
                fits[*at as usize] = 1.0;
            }
            holding.iter_mut().zip(fits).for_each(|(all, fit)| *all += fit);
        }
        let total = scan.total as f32;
        let (mut ways, mut concepts) = (Vec::new(), vec![0.0_f32; query.concepts.len()]);
        let mut rank = 0;
        for (at, alternative) in query.alternatives.iter().enumerate() {
            let is_first = at == 0 || query.alternatives[at - 1].concept != alternative.concept;
            rank = if is_first { 0 } else { rank + 1 };
            let rarity =
                (1.0 + (total - holding[at] + 0.5).max(0.0) / (holding[at] + 0.5)).ln().powf(matcher::RARITY);
            let trust = matcher::origin(alternative.origin, usize::saturating_sub(rank, 1));
            let way = rarity * trust * query.concepts[alternative.concept].weight;
            if holding[at] > 0.0 {
                concepts[alternative.concept] = concepts[alternative.concept].max(way);
            }
            ways.push(way);
        }
        let all = concepts.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        Self { query, ways, concepts, all }
    }

    /// Returns the score of `counts` in a text of `length` times the mean, and the share of the question covered.
    fn score(&self, counts: &[f32], bm25: Bm25, length: f32) -> (f32, f32) {
        let (mut score, mut covered) = (0.0, 0.0);
        let mut at = 0;
        for most in &self.concepts {
            let concept = self.query.alternatives.get(at).map(|alternative| alternative.concept);
            let (mut best, mut others) = (0.0_f32, 0.0);
            while let Some(alternative) = self.query.alternatives.get(at)
                && Some(alternative.concept) == concept
            {
                if counts[at] > 0.0 {
                    let value = self.ways[at] * bm25.saturated(counts[at], length);
                    others += value.min(best);
                    best = best.max(value);
                }
                at += 1;
            }
            score += best + matcher::OTHER_WAYS * others;
            covered += (best / bm25.most() * 1.5).min(*most);
        }
        (score, (covered / self.all).max(0.01))
    }

    fn rank_file(&self, file: &ScannedFile, read: ReadFile, mean_file: f32, mean_chunk: f32) -> RankedFile {
        let path = in_path(file, self.ways.len());
        let mut whole = path.clone();
        let bounds: Vec<(usize, usize)> = read.chunks.iter().map(|chunk| (chunk.start, chunk.end)).collect();
        let mut chunks = Vec::new();
        for (at, chunk) in read.chunks.into_iter().enumerate().filter(|(_, chunk)| !chunk.hits.is_empty()) {
            let mut counts = path.clone();
            for hit in &chunk.hits {
                let weight = matcher::fit(hit.fit);
                counts[hit.alternative as usize] += weight;
                whole[hit.alternative as usize] += weight;
            }
            for named in &chunk.in_symbol {
                counts[*named as usize] += matcher::SYMBOL;
                whole[*named as usize] += matcher::SYMBOL;
            }
            for named in &chunk.in_parent {
                counts[*named as usize] += matcher::PARENT;
            }
            let (score, coverage) = self.score(&counts, matcher::CHUNK, chunk.bytes / mean_chunk);
            let near = chunk.lines.iter().map(|(_, line)| self.together(*line)).fold(0.0, f32::max);
            let mut best_lines = chunk.lines.clone();
            best_lines.sort_by(|(_, one), (_, other)| self.weight(*other).total_cmp(&self.weight(*one)));
            best_lines.truncate(BEST_LINES);
            let score = score * coverage.powf(matcher::COVERAGE) + matcher::NEARNESS * near;
            let comment = if chunk.is_comment { matcher::ONLY_COMMENT } else { 1.0 };
            let test = if chunk.is_test && !self.query.wants.tests { matcher::TEST_IN_CODE } else { 1.0 };
            chunks.push(RankedChunk {
                score: score * comment * test,
                at,
                symbol: chunk.symbol,
                is_named: !chunk.in_symbol.is_empty(),
                head: chunk.head,
                best_lines: best_lines.into_iter().map(|(line, _)| line).collect(),
                is_comment: chunk.is_comment,
                is_prologue: chunk.is_prologue,
                matched: self.telling(&chunk.hits, &chunk.in_symbol),
                hits: chunk.hits,
            });
        }
        chunks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
        let length = file.bytes as f32 / mean_file;
        let (score, coverage) = self.score(&whole, matcher::FILE, length);
        let at = |at: usize| chunks.get(at).map_or(0.0, |chunk| chunk.score);
        let best = at(0) + matcher::NEXT_CHUNKS * (at(1) + at(2));
        let score = matcher::WHOLE_FILE * score * coverage.powf(matcher::COVERAGE)
            + (1.0 - matcher::WHOLE_FILE) * best;
        let score = score * (1.0 + matcher::SIZE * length.max(0.05).ln());
        // Imports show that a file is the right one, but not where in it.
        chunks.sort_by_key(|chunk| chunk.is_prologue);
        chunks.truncate(CHUNKS);
        RankedFile {
            path: file.path.clone(),
            score,
            chunks,
            text: read.text,
            bounds,
            matched: file.matched(),
        }
    }

    /// Returns the weight of concepts that share a line; 0 for a single one.
    fn together(&self, concepts: u64) -> f32 {
        if concepts.count_ones() < 2 { 0.0 } else { self.weight(concepts) }
    }

    fn weight(&self, concepts: u64) -> f32 {
        let has = |at: &usize| concepts >> at & 1 == 1;
        (0..self.concepts.len()).filter(has).map(|at| self.concepts[at]).sum()
    }

    /// Returns the alternatives in a chunk, one per concept, most significant first.
    fn telling(&self, hits: &[Hit], in_symbol: &[u16]) -> Vec<u16> {
        let mut best: BTreeMap<usize, u16> = BTreeMap::new();
        for at in hits.iter().map(|hit| hit.alternative).chain(in_symbol.iter().copied()) {
            let known = best.entry(self.query.alternatives[at as usize].concept).or_insert(at);
            if self.ways[at as usize] > self.ways[*known as usize] {
                *known = at;
            }
        }
        let mut telling: Vec<u16> = best.into_values().collect();
        telling.sort_by(|a, b| self.ways[*b as usize].total_cmp(&self.ways[*a as usize]));
        telling
    }
}

/// Returns whether a definition is a test by its name: `tests`, `test_x`, `TestX`.
fn is_test(symbol: &str) -> bool {
    let rest = symbol.strip_prefix("test").or_else(|| symbol.strip_prefix("Test"));
    rest.is_some_and(|rest| {
        rest.is_empty() || rest == "s" || rest.starts_with(|c: char| c == '_' || c.is_uppercase())
    })
}

fn in_path(file: &ScannedFile, alternatives: usize) -> Vec<f32> {
    let mut counts = vec![0.0; alternatives];
    for at in &file.in_path.name {
        counts[*at as usize] += matcher::FILE_NAME;
    }
    for at in &file.in_path.folder {
        counts[*at as usize] += matcher::FOLDER;
    }
    counts
}
