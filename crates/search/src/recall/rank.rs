//! Ranks sessions and their facts for a question.

use super::{
    cues::{CERTAIN, Cue, OPEN},
    gather::{Kind, Seen, Session},
    hits::{Hits, WORDS},
    limits,
    question::Question,
};
use std::{cmp::Reverse, collections::HashSet};

/// A session that answers a question.
#[derive(Debug)]
pub(super) struct Ranked<'a> {
    pub(super) session: &'a Session,
    /// Time of the best fact, in milliseconds since the epoch.
    pub(super) at: i64,
    /// From 0 to 1.
    pub(super) score: f32,
    /// Its facts with their scores, best first; never empty.
    pub(super) facts: Vec<(&'a Seen, f32)>,
}

/// Ranks sessions, best first.
pub(super) fn rank<'a>(question: &Question, sessions: &'a [Session]) -> Vec<Ranked<'a>> {
    let historical = question.certainty > OPEN;
    if !historical && question.is_general() {
        return vec![];
    }
    let own = own_facts(sessions);
    let ranking = Ranking { question, weights: weights(question, sessions, &own) };
    let mut ranked: Vec<Ranked<'a>> = Vec::new();
    for (session, own) in sessions.iter().zip(&own) {
        let Some(topic) = ranking.topic(session, own) else { continue };
        let mut facts: Vec<(&Seen, f32)> = own.iter().map(|fact| (*fact, ranking.fact(fact))).collect();
        facts.retain(|(_, weight)| *weight > 0.0);
        // Among equal facts, the newest wins for questions about time or unfinished work, otherwise the first.
        let newest = question.asks(Cue::When) || question.asks(Cue::Open);
        facts.sort_by(|(a, weight), (b, other)| {
            let order = if newest { b.line.cmp(&a.line) } else { a.line.cmp(&b.line) };
            other.total_cmp(weight).then(order)
        });
        let Some((best, weight)) = facts.first() else { continue };
        let at = best.at.unwrap_or(session.row.updated_at);
        let sure = match question.certainty {
            CERTAIN => 1.0,
            OPEN => limits::CODE,
            _ => limits::LIKELY,
        };
        let score = topic * (0.4 + 0.6 * weight) * ranking.left_broken(best, own) * sure;
        ranked.push(Ranked { session, at, score, facts });
    }
    ranked.sort_by_key(|session| Reverse(session.at));
    let kept = if ranking.wants_newest() { limits::NEWEST } else { limits::NEWER };
    let mut factor = 1.0;
    for session in &mut ranked {
        session.score *= factor;
        factor *= kept;
    }
    ranked.retain(|session| session.score >= limits::LEAST);
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

/// Returns the facts of each session, without those copied from an older one: a copy keeps the line's id and time. An
/// id alone is not enough, because some transcripts count from 1 in every session.
fn own_facts(sessions: &[Session]) -> Vec<Vec<&Seen>> {
    let mut seen = HashSet::new();
    let oldest_first = sessions.iter().rev().map(|session| {
        let line = |fact: &Seen| Some((fact.origin?, fact.at));
        let is_new = |fact: &&Seen| line(fact).is_none_or(|line| !seen.contains(&line));
        let facts: Vec<&Seen> = session.facts.iter().filter(is_new).collect();
        seen.extend(facts.iter().filter_map(|fact| line(fact)));
        facts
    });
    let mut own: Vec<Vec<&Seen>> = oldest_first.collect();
    own.reverse();
    own
}

/// Returns the weight of each word of a question: rarer words weigh more.
fn weights(question: &Question, sessions: &[Session], own: &[Vec<&Seen>]) -> Vec<f32> {
    let hits: Vec<Hits> = sessions
        .iter()
        .zip(own)
        .map(|(session, facts)| facts.iter().fold(session.title_hits, |hits, fact| hits.or(fact.hits)))
        .collect();
    let all = sessions.len() as f32;
    let weight = |word: usize| {
        let with = hits.iter().filter(|hits| hits.holds(word)).count() as f32;
        let rare = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        if with == 0.0 { rare * limits::ABSENT } else { rare }
    };
    (0..question.words.len().min(WORDS)).map(weight).collect()
}

struct Ranking<'a> {
    question: &'a Question,
    weights: Vec<f32>,
}

impl Ranking<'_> {
    fn wants_newest(&self) -> bool {
        [Cue::When, Cue::Last, Cue::Open].iter().any(|cue| self.question.asks(*cue))
    }

    /// Returns the share of the topic that a session contains, from 0 to 1; `None` if it is too small.
    fn topic(&self, session: &Session, facts: &[&Seen]) -> Option<f32> {
        let question = self.question;
        let historical = question.certainty > OPEN;
        let scope = if question.scopes.is_empty() {
            None
        } else {
            let in_scope = facts.iter().filter(|fact| fact.in_scope);
            Some(in_scope.map(|fact| of_scope(fact.kind)).max_by(f32::total_cmp)?)
        };
        if self.weights.is_empty() {
            return Some(scope.unwrap_or(1.0));
        }
        let (mut held, mut all, mut words_held) = (0.0, 0.0, 0_u64);
        for (word, weight) in self.weights.iter().enumerate() {
            let of_facts = facts.iter().map(|fact| of_word(fact.kind) * fact.hits.strength(word));
            let best = of_facts.fold(session.title_hits.strength(word), f32::max);
            words_held |= u64::from(best > 0.0) << word;
            held += weight * best;
            all += weight;
        }
        let coverage = if all > 0.0 { held / all } else { 0.0 };
        let holds_name = self.question.names == 0 || words_held & self.question.names != 0;
        let enough = holds_name
            && match scope {
                // A named file limits where to search; the words say what to search for.
                Some(_) => historical || coverage > 0.0 || self.weights.len() == 1,
                None if historical => coverage >= limits::TOPIC,
                // A single common word among several is coincidence.
                None => {
                    coverage >= limits::TOPIC_OF_CODE
                        && (words_held.count_ones() > 1 || self.weights.len() == 1)
                }
            };
        enough.then(|| scope.map_or(coverage, |scope| 0.6 * scope + 0.4 * coverage))
    }

    /// Returns the score of a fact, from 0 to 1.
    fn fact(&self, fact: &Seen) -> f32 {
        let question = self.question;
        let all: f32 = self.weights.iter().sum();
        let held = |(word, weight): (usize, &f32)| weight * fact.hits.strength(word);
        let share =
            if all > 0.0 { self.weights.iter().enumerate().map(held).sum::<f32>() / all } else { 1.0 };
        let scope = match fact.kind {
            _ if question.scopes.is_empty() || fact.in_scope => 1.0,
            Kind::Edited | Kind::Read => 0.0,
            _ => 0.4,
        };
        let aspects = [Cue::Changed, Cue::Ran, Cue::Failed, Cue::Open, Cue::Why, Cue::When];
        let asked = aspects.into_iter().filter(|cue| question.asks(*cue));
        let best = asked.map(|cue| self.answers(cue, fact, share)).fold(f32::NAN, f32::max);
        // A session is represented by its prompt unless the question asks for something else.
        let best = if best.is_nan() { general(fact.kind) * (0.2 + 0.8 * share) } else { best };
        best * scope
    }

    fn answers(&self, cue: Cue, fact: &Seen, share: f32) -> f32 {
        let subject = [Cue::Build, Cue::Test].into_iter().find(|cue| self.question.asks(*cue));
        let some = 0.6 + 0.4 * share;
        let most = 0.1 + 0.9 * share;
        match (cue, fact.kind) {
            (Cue::Changed, Kind::Edited) => some,
            (Cue::Changed, Kind::Prompt { .. }) => 0.4 * most,
            (Cue::Changed, Kind::Answer { .. }) => 0.3 * most,
            (Cue::Ran, Kind::Ran { subject: ran, .. }) if subject.is_none() || ran == subject => some,
            (Cue::Ran, Kind::Ran { .. }) => 0.3 * some,
            (Cue::Failed, Kind::Ran { exit_code: Some(code), subject: ran }) if code != 0 => match subject {
                Some(_) if ran == subject => some,
                Some(_) => 0.0,
                None => 0.9 * some,
            },
            (Cue::Open, Kind::OpenTasks(_)) => 1.0,
            (Cue::Open, Kind::Answer { last: true, .. }) => 0.85,
            (Cue::Open, Kind::Prompt { .. }) => 0.4 * most,
            (Cue::Why, Kind::Prompt { reason } | Kind::Answer { reason, .. }) if !fact.hits.is_empty() => {
                most * if reason { 1.0 } else { 0.6 }
            }
            (Cue::When, Kind::Edited) => 0.9 * most,
            (Cue::When, Kind::Prompt { .. }) => 0.7 * most,
            (Cue::When, Kind::Ran { .. }) => 0.6 * most,
            (Cue::When, Kind::Answer { .. }) => 0.4 * most,
            (Cue::Failed, Kind::Prompt { .. } | Kind::Answer { .. }) if !fact.hits.is_empty() => 0.2 * most,
            _ => 0.0,
        }
    }

    /// Returns the factor for a failure: a session that continued until the build passed did not break it.
    fn left_broken(&self, best: &Seen, facts: &[&Seen]) -> f32 {
        let Kind::Ran { subject: Some(broken), .. } = best.kind else { return 1.0 };
        let last = facts.iter().rev().find_map(|fact| match fact.kind {
            Kind::Ran { exit_code, subject: Some(subject) } if subject == broken => Some(exit_code),
            _ => None,
        });
        if self.question.asks(Cue::Failed) && last == Some(Some(0)) { 0.8 } else { 1.0 }
    }
}

fn of_word(kind: Kind) -> f32 {
    match kind {
        Kind::Prompt { .. } => 1.0,
        Kind::Edited => 0.9,
        Kind::Ran { .. } | Kind::OpenTasks(_) => 0.8,
        Kind::Answer { .. } => 0.7,
        Kind::Read => 0.5,
    }
}

fn of_scope(kind: Kind) -> f32 {
    match kind {
        Kind::Edited => 1.0,
        Kind::Prompt { .. } => 0.8,
        _ => 0.6,
    }
}

fn general(kind: Kind) -> f32 {
    match kind {
        Kind::Prompt { .. } => 1.0,
        Kind::Edited => 0.7,
        Kind::Answer { last: true, .. } => 0.65,
        Kind::OpenTasks(_) => 0.5,
        Kind::Ran { .. } => 0.4,
        Kind::Answer { .. } => 0.3,
        Kind::Read => 0.2,
    }
}
