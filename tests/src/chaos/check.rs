//! Compares what clients received with the ledger: lost, duplicated and reordered updates.

use super::{
    ledger::{Ledger, Life},
    numbers::{Item, Kind},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt,
    hash::Hash,
};

/// One update as a client received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub seq: u64,
    pub items: Vec<Item>,
    /// Fingerprint of the whole frame, which is the same for every client.
    pub fingerprint: u64,
}

/// The updates that a client received for a session, in order of arrival, over all its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The client.
    pub who: String,
    pub session: String,
    /// The updates since the beginning of the log.
    pub rows: Vec<Row>,
}

/// The known state of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompted {
    /// It was sent without a response: it may or may not be in the log.
    Sent,
    /// The bridge has accepted it.
    Taken,
    Refused,
}

/// Prompts by name: the session each was sent to, and its state.
pub type Prompts = BTreeMap<String, (String, Prompted)>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Items missing at some client.
    pub lost: BTreeSet<String>,
    /// Items that some client has twice.
    pub duplicated: BTreeSet<String>,
    /// Items that some client has in the wrong place.
    pub reordered: BTreeSet<String>,
    /// All problems, with the client and the place.
    pub problems: Vec<String>,
    /// Number of items sent at the moment of a kill: neither on disk nor shown to any client.
    pub unborn: usize,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [lost, duplicated, reordered] =
            [&self.lost, &self.duplicated, &self.reordered].map(BTreeSet::len);
        write!(formatter, "lost {lost}, duplicated {duplicated}, reordered {reordered}")
    }
}

impl Verdict {
    /// Returns whether there are no findings.
    pub fn is_clean(&self) -> bool {
        let findings = [&self.lost, &self.duplicated, &self.reordered];
        findings.iter().all(|found| found.is_empty()) && self.problems.is_empty()
    }

    /// Records a problem that is not one of the three.
    pub fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Same as [`Self::compare`], for things that may occur several times: each occurrence counts as a different thing.
    pub fn compare_counted<T: Clone + Eq + Hash + fmt::Debug>(
        &mut self,
        who: &str,
        expected: &[T],
        got: &[T],
    ) {
        let counted = |things: &[T]| {
            let mut counts: HashMap<T, usize> = HashMap::new();
            let count = |thing: &T| {
                let count = counts.entry(thing.clone()).or_default();
                *count += 1;
                (thing.clone(), *count)
            };
            things.iter().map(count).collect::<Vec<_>>()
        };
        self.compare(who, &counted(expected), &counted(got));
    }

    /// Compares the actual order of things with the expected one.
    pub fn compare<T: Clone + Eq + Hash + fmt::Debug>(&mut self, who: &str, expected: &[T], got: &[T]) {
        let key = |thing: &T| format!("{thing:?}");
        let mut seen: HashSet<&T> = HashSet::new();
        let places: HashMap<&T, usize> =
            expected.iter().enumerate().map(|(place, thing)| (thing, place)).collect();
        let mut order = Vec::new();
        for thing in got {
            if !seen.insert(thing) {
                self.duplicated.insert(key(thing));
                self.problem(format!("{who} has {thing:?} twice"));
                continue;
            }
            match places.get(thing) {
                Some(place) => order.push((*place, thing)),
                None => self.problem(format!("{who} has {thing:?}, which should not be there")),
            }
        }
        for thing in expected.iter().filter(|thing| !seen.contains(thing)) {
            self.lost.insert(key(thing));
            self.problem(format!("{who} has no {thing:?}"));
        }
        let in_order = longest_rise(&order.iter().map(|(place, _)| *place).collect::<Vec<_>>());
        for (index, (_, thing)) in order.iter().enumerate() {
            if !in_order.contains(&index) {
                self.reordered.insert(key(thing));
                self.problem(format!("{who} has {thing:?} in another place"));
            }
        }
    }
}

/// Returns the indices of a longest increasing sequence: everything outside of it was moved.
fn longest_rise(values: &[usize]) -> HashSet<usize> {
    // For each length, the index at which the best sequence ends; and for each index, the one before it.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (index, value) in values.iter().enumerate() {
        let length = ends.partition_point(|end| values[*end] < *value);
        before.push(length.checked_sub(1).map(|length| ends[length]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    std::iter::successors(ends.last().copied(), |index| before[*index]).collect()
}

/// Returns the items of a session that must be there: all that were on disk according to the store, all that were
/// shown to any client, and all that came before one of these. Only a kill may take the rest.
pub fn survivors(lives: &[Life], seen: &HashSet<u64>) -> Vec<(Kind, u64)> {
    let survive = |life: &Life| {
        let shown =
            life.said.iter().rposition(|(number, _)| seen.contains(number)).map_or(0, |last| last + 1);
        let count = if life.killed { shown.max(life.stored) } else { life.said.len() };
        life.said[..count].iter().map(|(number, kind)| (*kind, *number)).collect::<Vec<_>>()
    };
    lives.iter().flat_map(survive).collect()
}

/// Compares the updates of all clients with the ledger. `glimpsed` are numbers seen by clients that keep no rows.
pub fn check(ledger: &Ledger, prompts: &Prompts, shown: &[Shown], glimpsed: &HashSet<u64>) -> Verdict {
    let mut verdict = Verdict::default();
    let mut sessions: BTreeMap<&str, Vec<&Shown>> = BTreeMap::new();
    for known in ledger.sessions.keys() {
        sessions.entry(known).or_default();
    }
    for one in shown {
        sessions.entry(&one.session).or_default().push(one);
    }
    let nothing = Vec::new();
    for (session, shown) in sessions {
        let lives = ledger.sessions.get(session).unwrap_or(&nothing);
        check_session(&mut verdict, ledger, (session, lives), &shown, glimpsed);
        let union = union(&mut Verdict::default(), session, &shown);
        let log: Vec<&Item> = union.values().flat_map(|row| &row.items).collect();
        for (name, (_, state)) in prompts.iter().filter(|(_, (asked_in, _))| asked_in == session) {
            let times =
                log.iter().filter(|item| matches!(item, Item::Prompt(known) if known == name)).count();
            match (times, state) {
                (0, Prompted::Taken) => {
                    verdict.lost.insert(format!("prompt {name}"));
                    verdict.problem(format!("the prompt {name} was taken, and is nowhere"));
                }
                (1.., Prompted::Refused) => {
                    verdict.problem(format!("the prompt {name} was refused, and is there"))
                }
                (2.., _) => {
                    verdict.duplicated.insert(format!("prompt {name}"));
                    verdict.problem(format!("the prompt {name} is there twice"));
                }
                _ => {}
            }
        }
    }
    verdict
}

fn check_session(
    verdict: &mut Verdict,
    ledger: &Ledger,
    (session, lives): (&str, &[Life]),
    shown: &[&Shown],
    glimpsed: &HashSet<u64>,
) {
    let said = |row: &Row| -> Vec<(Kind, u64)> {
        let said =
            |item: &Item| if let Item::Said(kind, number) = item { Some((*kind, *number)) } else { None };
        row.items.iter().filter_map(said).collect()
    };
    let all = shown.iter().flat_map(|shown| &shown.rows).flat_map(said).map(|(_, number)| number);
    let seen: HashSet<u64> = all.chain(glimpsed.iter().copied()).collect();
    let expected = survivors(lives, &seen);
    verdict.unborn += lives.iter().map(|life| life.said.len()).sum::<usize>() - expected.len();
    let union = union(verdict, session, shown);
    // Updates that are not the agent's are identified only by their seq.
    let is_of_the_bridge = |seq: &u64| union.get(seq).is_some_and(|row| said(row).is_empty());
    let of_the_bridge: Vec<(&str, u64)> =
        union.keys().filter(|seq| is_of_the_bridge(seq)).map(|seq| (session, *seq)).collect();
    let head = union.keys().last().copied().unwrap_or_default();
    for one in shown {
        let who = &one.who;
        let got: Vec<_> = one.rows.iter().flat_map(said).collect();
        verdict.compare(&format!("{who} in {session}"), &expected, &got);
        let seqs = one.rows.iter().map(|row| row.seq);
        let got: Vec<_> = seqs.clone().filter(is_of_the_bridge).map(|seq| (session, seq)).collect();
        verdict.compare(who, &of_the_bridge, &got);
        for (row, wanted) in seqs.zip(1..).filter(|(row, wanted)| row != wanted).take(1) {
            verdict.problem(format!("{who} got update {row} of {session} where {wanted} comes"));
        }
        if one.rows.len() as u64 != head {
            verdict.problem(format!("{who} has {} of {head} updates of {session}", one.rows.len()));
        }
    }
    let asked = expected.iter().filter(|(kind, _)| *kind == Kind::Ask).map(|(_, number)| number);
    let outcomes: Vec<_> = union.values().flat_map(|row| &row.items).collect();
    for number in asked {
        let of_it = |item: &&&Item| matches!(item, Item::Outcome(known, _) if known == number);
        let outcomes: Vec<_> = outcomes.iter().filter(of_it).collect();
        match (outcomes.as_slice(), ledger.heard.get(number)) {
            ([Item::Outcome(_, shown)], Some(heard)) if shown == heard => {}
            // The agent was no longer there to receive the answer.
            ([_, ..], None) => {}
            (shown, heard) => {
                verdict.problem(format!("of question {number} {heard:?} was heard, {shown:?} shown"))
            }
        }
    }
}

/// Returns the log as far as any client has seen it. All clients must have seen the same.
fn union<'a>(verdict: &mut Verdict, session: &str, shown: &[&'a Shown]) -> BTreeMap<u64, &'a Row> {
    let mut union: BTreeMap<u64, (&str, &Row)> = BTreeMap::new();
    for one in shown {
        for row in &one.rows {
            let (first, known) = union.entry(row.seq).or_insert((&one.who, row));
            if known.fingerprint != row.fingerprint {
                let seq = row.seq;
                verdict.problem(format!(
                    "update {seq} of {session} is {:?} for {first} and {:?} for {}",
                    known.items, row.items, one.who
                ));
            }
        }
    }
    union.into_iter().map(|(seq, (_, row))| (seq, row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "s";

    fn life(numbers: std::ops::Range<u64>, stored: usize, killed: bool) -> Life {
        Life { said: numbers.map(|number| (number, Kind::Text)).collect(), stored, killed }
    }

    fn ledger(lives: Vec<Life>) -> Ledger {
        Ledger { sessions: BTreeMap::from([(SESSION.to_owned(), lives)]), heard: HashMap::new() }
    }

    /// Returns a log in which the first update is the bridge's own.
    fn shown(who: &str, numbers: impl IntoIterator<Item = u64>) -> Shown {
        let item = |number| if number == 0 { Item::Other } else { Item::Said(Kind::Text, number) };
        let row = |(seq, number)| Row { seq, items: vec![item(number)], fingerprint: number };
        let rows = (1..).zip(std::iter::once(0).chain(numbers)).map(row).collect();
        Shown { who: who.to_owned(), session: SESSION.to_owned(), rows }
    }

    fn verdict(ledger: &Ledger, shown: &[Shown]) -> (Verdict, [usize; 3]) {
        let verdict = check(ledger, &Prompts::new(), shown, &HashSet::new());
        let counts = [&verdict.lost, &verdict.duplicated, &verdict.reordered].map(BTreeSet::len);
        (verdict, counts)
    }

    #[test]
    fn check_accepts_a_complete_log() {
        let ledger = ledger(vec![life(1..20, 5, true), life(100..110, 0, false)]);
        let all = || (1..20).chain(100..110);
        let (verdict, counts) = verdict(&ledger, &[shown("a", all()), shown("b", all())]);
        assert!(verdict.is_clean(), "{:?}", verdict.problems);
        assert_eq!((counts, verdict.to_string().as_str()), ([0; 3], "lost 0, duplicated 0, reordered 0"));
    }

    #[test]
    fn only_a_kill_may_lose_unreported_updates() {
        let killed = [life(1..20, 5, true)];
        let seen = |numbers: &[u64]| survivors(&killed, &numbers.iter().copied().collect()).len();
        assert_eq!((seen(&[]), seen(&[3]), seen(&[12]), seen(&[12, 7])), (5, 5, 12, 12));
        assert_eq!(survivors(&[life(1..20, 5, false)], &HashSet::new()).len(), 19);
        let ledger = ledger(killed.to_vec());
        let (verdict, counts) = verdict(&ledger, &[shown("a", 1..8)]);
        assert_eq!((counts, verdict.is_clean(), verdict.unborn), ([0; 3], true, 12));
        // A kill takes neither what is on disk nor what the phone has seen.
        let (verdict, counts) = super::tests::verdict(&ledger, &[shown("a", 1..4)]);
        assert_eq!((counts, verdict.is_clean()), ([2, 0, 0], false));
        let verdict = check(&ledger, &Prompts::new(), &[shown("a", 1..8)], &HashSet::from([9]));
        assert_eq!(verdict.lost.len(), 2);
    }

    #[test]
    fn lost_update_is_counted_once() {
        let ledger = ledger(vec![life(1..20, 0, false)]);
        let without = |gone: u64| (1..20).filter(move |number| *number != gone);
        let (_, counts) = verdict(&ledger, &[shown("a", without(7)), shown("b", without(7))]);
        assert_eq!(counts, [1, 0, 0]);
        let (_, counts) = verdict(&ledger, &[shown("a", 1..20), shown("b", without(7))]);
        assert_eq!(counts, [1, 0, 0]);
        // A gap in the log that was never filled.
        let mut gap = shown("a", 1..20);
        gap.rows.remove(7);
        let (_, counts) = verdict(&ledger, &[gap, shown("b", 1..20)]);
        assert_eq!(counts, [1, 0, 0]);
        // A gap in the bridge's own updates.
        let mut gap = shown("a", 1..20);
        gap.rows.remove(0);
        let (_, counts) = verdict(&ledger, &[gap, shown("b", 1..20)]);
        assert_eq!(counts, [1, 0, 0]);
    }

    #[test]
    fn repeated_update_is_counted_once() {
        let ledger = ledger(vec![life(1..20, 0, false)]);
        let twice = (1..8).chain(7..20);
        let (_, counts) = verdict(&ledger, &[shown("a", twice.clone()), shown("b", twice)]);
        assert_eq!(counts, [0, 1, 0]);
        let mut again = shown("a", 1..20);
        again.rows.insert(0, again.rows[0].clone());
        let (_, counts) = verdict(&ledger, &[again, shown("b", 1..20)]);
        assert_eq!(counts, [0, 1, 0]);
    }

    #[test]
    fn misplaced_update_is_counted_once() {
        let ledger = ledger(vec![life(1..20, 0, false)]);
        let mut swapped: Vec<u64> = (1..20).collect();
        swapped.swap(8, 9);
        let (_, counts) = verdict(&ledger, &[shown("a", swapped), shown("b", 1..20)]);
        assert_eq!(counts, [0, 0, 1]);
        let mut moved: Vec<u64> = (1..20).collect();
        let first = moved.remove(0);
        moved.push(first);
        let (_, counts) = verdict(&ledger, &[shown("a", moved)]);
        assert_eq!(counts, [0, 0, 1]);
        let mut late = shown("a", 1..20);
        let title = late.rows.remove(0);
        late.rows.push(title);
        let (verdict, counts) = verdict(&ledger, &[late]);
        // Only one update in the log is the bridge's: it cannot be out of order with itself, but its seq is.
        assert_eq!((counts, verdict.is_clean()), ([0, 0, 0], false));
    }

    #[test]
    fn foreign_and_altered_updates_are_reported() {
        let ledger = ledger(vec![life(1..20, 0, false)]);
        let (verdict, counts) = verdict(&ledger, &[shown("a", 1..21)]);
        assert_eq!((counts, verdict.is_clean()), ([0; 3], false));
        let mut other = shown("b", 1..20);
        other.rows[0].fingerprint = 77;
        let (verdict, _) = super::tests::verdict(&ledger, &[shown("a", 1..20), other]);
        assert_eq!(verdict.problems.len(), 1);
    }

    #[test]
    fn accepted_prompt_is_stored_once() {
        let ledger = ledger(vec![life(1..3, 0, false)]);
        let with = |names: &[&str]| {
            let mut shown = shown("a", 1..3);
            for (name, seq) in names.iter().zip(4..) {
                let items = vec![Item::Prompt((*name).to_owned())];
                shown.rows.push(Row { seq, items, fingerprint: seq });
            }
            shown
        };
        let prompts = |state| Prompts::from([("p".to_owned(), (SESSION.to_owned(), state))]);
        let counts = |state, names: &[&str]| {
            let verdict = check(&ledger, &prompts(state), &[with(names)], &HashSet::new());
            (verdict.lost.len(), verdict.duplicated.len(), verdict.problems.len())
        };
        assert_eq!(counts(Prompted::Taken, &["p"]), (0, 0, 0));
        assert_eq!(counts(Prompted::Taken, &[]), (1, 0, 1));
        assert_eq!(counts(Prompted::Sent, &[]), (0, 0, 0));
        assert_eq!(counts(Prompted::Sent, &["p", "p"]), (0, 1, 1));
        assert_eq!(counts(Prompted::Refused, &["p"]), (0, 0, 1));
    }

    #[test]
    fn approval_has_the_acknowledged_answer() {
        let mut ledger = ledger(vec![Life { said: vec![(5, Kind::Ask)], stored: 0, killed: false }]);
        ledger.heard.insert(5, Some("allow".to_owned()));
        let shown = |outcomes: &[Item]| {
            let items = std::iter::once(Item::Said(Kind::Ask, 5)).chain(outcomes.iter().cloned());
            let row = |(seq, item)| Row { seq, items: vec![item], fingerprint: seq };
            Shown {
                who: "a".to_owned(),
                session: SESSION.to_owned(),
                rows: (1..).zip(items).map(row).collect(),
            }
        };
        let outcome = |option: Option<&str>| Item::Outcome(5, option.map(str::to_owned));
        let is_clean = |outcomes: &[Item]| verdict(&ledger, &[shown(outcomes)]).0.is_clean();
        assert!(is_clean(&[outcome(Some("allow"))]));
        for wrong in [
            vec![],
            vec![outcome(None)],
            vec![outcome(Some("deny"))],
            vec![outcome(Some("allow")), outcome(Some("allow"))],
        ] {
            assert!(!is_clean(&wrong), "{wrong:?}");
        }
    }
}
