//! Words with a model what was found: the answer to the goals or, without goals, the overview.

use super::intent::Intent;
use crate::survey::Survey;
use openagents_core::{
    CancellationToken,
    agent_ids::LOCAL_FM,
    model::{LanguageModel, complete},
    text::cut_at_word,
    update::{Evidence, FactPlace, Finding, IntentSource, Overview, OverviewFact, Place},
    visible::code_span,
};
use openagents_search::repository::{first_prose, plain};
use std::collections::HashSet;

const INSTRUCTIONS: &str = "You are shown numbered facts about a project. On the first line, say in one plain sentence \
    of at most thirty words what the project is for and what someone who works on it is trying to do. Then, for each \
    folder that the facts name, write a line with the folder, a colon and at most twelve plain words on what it is for. \
    End each line with the numbers of the facts that show it, as in [2]. Use nothing that is not shown. No heading, no \
    introduction.";

const ANSWER: &str = "You are shown places of a project that were found for a question. Answer it in one plain sentence \
    of at most forty words, and name the place that says so as path:line. Use nothing that is not shown. No list, no \
    heading, no introduction.";

/// Bytes of all excerpts or facts in the request.
const EXCERPTS: usize = 8_000;
/// Characters of a folder's line.
const FOLDER_LINE: usize = 100;

/// Asks `model` to answer `goals`. `None` if its sentence does not cite a given line. Blocks.
pub(super) fn answer(
    model: &dyn LanguageModel,
    survey: &Survey,
    goals: &[String],
    cancel: &CancellationToken,
) -> Option<Intent> {
    let mut prompt = String::new();
    for finding in survey.findings.findings.iter().filter(|finding| finding.path().is_some()) {
        if prompt.len() + finding.excerpt.len() > EXCERPTS {
            break;
        }
        prompt.push_str(&format!("{}\n{}\n\n", finding.citation(), finding.excerpt));
    }
    let question = goals.iter().map(|goal| cut_at_word(goal, 200)).collect::<Vec<_>>().join(" ");
    prompt.push_str(&format!("The question: {question}\n"));
    let reply = complete(model, ANSWER, prompt, cancel);
    let reply = reply.map_err(|error| tracing::warn!(%error, "the model did not answer the goal")).ok()?;
    let sentence = first_prose(&reply)?;
    let cited = survey.findings.findings.iter().filter(|finding| cites(&sentence, finding));
    let evidence: Vec<_> = cited.filter_map(as_evidence).collect();
    (!evidence.is_empty()).then(|| said_by(model, sentence, evidence))
}

/// Returns whether a sentence cites a line of a finding.
fn cites(sentence: &str, finding: &Finding) -> bool {
    let Some(path) = finding.path().map(code_span) else { return false };
    sentence.match_indices(&path).any(|(at, path)| {
        let rest = sentence[at + path.len()..].strip_prefix(':').unwrap_or_default();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
        digits.parse::<u64>().is_ok_and(|line| (finding.start..=finding.end).contains(&line))
    })
}

fn as_evidence(finding: &Finding) -> Option<Evidence> {
    let text = finding.excerpt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Some(Evidence::File {
        path: finding.path()?.to_owned(),
        line: finding.shown().0,
        text: text.trim().to_owned(),
    })
}

/// Returns a sentence of a model with its source. The local model, and a server's, may be a model other than gpt-oss.
fn said_by(model: &dyn LanguageModel, sentence: String, evidence: Vec<Evidence>) -> Intent {
    let name = model.name();
    let letters: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
    let source = if model.id() == LOCAL_FM {
        IntentSource::Fm
    } else if letters.to_lowercase().contains("gptoss") {
        IntentSource::Gptoss
    } else {
        IntentSource::Model
    };
    let model = (source == IntentSource::Model).then(|| plain(&name));
    Intent { sentence: Some(sentence), source, model, evidence }
}

/// What a model says of a project: a sentence, and a line for each of the folders that it describes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wording {
    pub(super) intent: Option<Intent>,
    /// Path as in the map, and its line.
    pub(super) folders: Vec<(String, String)>,
}

/// Asks `model` to word an overview. What cites none of its facts, or names what they do not, is left out. Blocks.
pub(super) fn word(model: &dyn LanguageModel, overview: &Overview, cancel: &CancellationToken) -> Wording {
    let mut facts: Vec<&OverviewFact> = Vec::new();
    let mut prompt = String::new();
    for fact in overview.blocks.iter().flat_map(|block| &block.facts) {
        let line = format!("[{}] {}\n", facts.len() + 1, fact.markdown());
        if prompt.len() + line.len() > EXCERPTS {
            break;
        }
        prompt.push_str(&line);
        facts.push(fact);
    }
    // A sentence needs evidence.
    if facts.is_empty() {
        return Wording::default();
    }
    let reply = complete(model, INSTRUCTIONS, prompt, cancel);
    let Ok(reply) = reply.inspect_err(|error| tracing::warn!(%error, "the model worded no overview")) else {
        return Wording::default();
    };
    let mut wording = Wording::default();
    for (at, line) in reply.lines().filter(|line| !line.trim().is_empty()).enumerate() {
        let Some((words, cited)) = cited(line, &facts) else { continue };
        let folder = overview.map.roots().find_map(|node| {
            let words =
                words.trim_start_matches(LIST_MARK).trim_start_matches('`').strip_prefix(&node.path)?;
            Some((node, words.trim_start_matches('`').strip_prefix(':')?))
        });
        match folder {
            Some((node, words)) => {
                let is_about_it = cited.iter().any(|fact| fact.text.contains(&node.path));
                let words = plain(words.trim());
                if is_about_it && !words.is_empty() {
                    wording.folders.push((node.path.clone(), cut_at_word(&words, FOLDER_LINE)));
                }
            }
            None if at == 0 => {
                let evidence = cited.iter().filter_map(|fact| fact_evidence(fact)).collect();
                wording.intent = first_prose(&words).map(|sentence| said_by(model, sentence, evidence));
            }
            None => {}
        }
    }
    wording
}

const LIST_MARK: [char; 3] = ['-', '*', ' '];

/// Returns a line without its citations, and the facts that it cites. `None` if it cites none, or one that is not given,
/// or has a number, a path or an identifier that none of them has.
fn cited<'a>(line: &str, facts: &[&'a OverviewFact]) -> Option<(String, Vec<&'a OverviewFact>)> {
    let (mut words, mut cited): (String, Vec<&OverviewFact>) = (String::new(), Vec::new());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        words.push_str(before);
        let (numbers, after) = after.split_once(']')?;
        for number in numbers.split(',') {
            let number: usize = number.trim().parse().ok()?;
            cited.push(facts.get(number.checked_sub(1)?)?);
        }
        words.truncate(words.trim_end().len());
        rest = after;
    }
    words.push_str(rest);
    let shown: String = cited.iter().map(|fact| fact.markdown() + "\n").collect();
    let shown: HashSet<&str> = names(&shown).collect();
    let are_shown = names(&words).filter(|name| is_identifier(name)).all(|name| shown.contains(name));
    (!cited.is_empty() && are_shown).then_some((words, cited))
}

/// Returns the words of a text, with the signs inside of paths and identifiers.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "/_.:-".contains(c)))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// Returns whether a word is a number, a path or a name from code: `2.1`, `src/a`, `TideModel`.
fn is_identifier(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit() || "/_.:".contains(c))
        || word.chars().zip(word.chars().skip(1)).any(|(one, next)| one.is_lowercase() && next.is_uppercase())
}

fn fact_evidence(fact: &OverviewFact) -> Option<Evidence> {
    let FactPlace { place, start, .. } = fact.place.clone()?;
    let text = plain(&fact.text);
    Some(match place {
        Place::File { path } => Evidence::File { path, line: start.max(1), text },
        Place::Session { provider, session_id } => {
            Evidence::Session { provider, session_id, line: start, text }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citation_must_be_given_and_show_names() {
        let fact = |text: &str| OverviewFact { text: text.to_owned(), place: None };
        let facts = [fact("Tide 2.1 predicts the tide."), fact("`src/wave.rs`: the waves (40 lines)")];
        let facts: Vec<&OverviewFact> = facts.iter().collect();
        let rows = [
            ("Predicts the tide [1].", Some(("Predicts the tide.", 1))),
            ("Tide 2.1 has src/wave.rs [1, 2]", Some(("Tide 2.1 has src/wave.rs", 2))),
            ("It has waves [1][2]", Some(("It has waves", 2))),
            ("Predicts the tide.", None),
            ("Predicts the tide [3].", None),
            ("Predicts the tide [0].", None),
            ("Predicts the tide [one].", None),
            ("Predicts the tide [1", None),
            ("Tide 2.2 predicts [1]", None),
            ("Waves are in src/storm.rs [2]", None),
            ("The TideModel predicts it [1]", None),
            ("It has 4 waves [2]", None),
            ("", None),
        ];
        for (line, expected) in rows {
            let got = cited(line, &facts).map(|(words, cited)| (words, cited.len()));
            assert_eq!(got, expected.map(|(words, count)| (words.to_owned(), count)), "{line}");
        }
    }
}
