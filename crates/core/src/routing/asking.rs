//! Whether the words around a name ask whoever bears it to do something. Work goes off the machine by this judgement alone,
//! so a sentence that can be read in another way is no request.

use super::{
    pattern::pattern,
    prompt::{Sentence, without_politeness},
};

/// What is done to a project and hardly ever said of a feature of it.
const WORK: &str =
    r"(?:fix|debug|repair|write|rewrite|implement|refactor|review|analy[sz]e|document|investigate)";

/// What is work only together with what it is done to.
const DEED: &str = "(?:do|try|take|have|add|create|build|make|generate|solve|test|run|check|change|update|remove|delete|replace|\
    improve|optimi[sz]e|plan|design|draft|migrate|port|convert|finish|complete|continue(?: with)?|explain|describe|summari[sz]e|\
    extract|simplify|split|merge|rename|move|translate|clean up|set up|upgrade|prepare|audit|inspect|find|handle|answer|\
    look (?:at|into|for|over|through)|go (?:over|through)|think about)";

/// What begins with these is something particular.
const THING: &str =
    r"(?:this|that|it|the|an?|my|our|your|all|these|those|them|everything|both|some|every|over|care)\b";

/// What a person points at and hands over.
const TASK: &str = r"(?:this|that|it|these|those|them|all of (?:this|that|it)|(?:the|this|that) (?:whole |entire |rest of the )?(?:task|job|work)|(?:this|that) (?:one|bug|issue|ticket|feature|fix|refactoring|refactor|migration|problem|review|change))";

pattern!(WORKS: &format!(r"^{WORK}\b|^{DEED} {THING}|^(?:take over|finish|continue|do|try)\W*$"));
pattern!(WORKS_ON_A_THING: &format!(r"^(?:{WORK}|{DEED}) {THING}|^take over\W*$"));
// "Let it write to the log" is how a program behaves.
pattern!(BEHAVES: r"^\w+ (?:to|into|in|from|on|as|at|by|when|while|without|before|after)\b");

// What stands before the name, by what may follow it.
pattern!(ASK: r"^(?:ask|tell|instruct) $");
pattern!(LET: r"^(?:let|have|make) $");
pattern!(USE: r"^use $");
pattern!(WANT: r"^(?:use|get) $|^(?:i|we)(?:'d| would)? (?:want|need|like) $");
pattern!(
    HAND: &format!(r"^(?:delegate|hand|send|give|pass|forward|route|assign|leave)(?: over| off)? {TASK}(?: over| off| on)? to $"),
    r"^(?:delegate|hand)(?: over| off)? (?:the|my|our|this|that|these|those) (?:\w+ )?(?:tests?|fix|bugs?|review|refactoring|refactor|migration|issue|ticket|feature|implementation|rest|documentation|docs|cleanup)(?: over| off)? to $",
);
pattern!(
    WITH: &format!(r"^(?:use|run|do|try|implement|fix|write|add|create|build|refactor|rewrite|review|analy[sz]e|document|plan|generate|solve|handle|test|finish) {TASK} (?:with|using|via|through) $"),
);
pattern!(OPINION: r"^would (?:you|u|we) (?:use|let|have|want|like)\b|^have\b");

// What follows it.
pattern!(NOTHING: r"^[\s.!,;:]*(?:please)?[\s.!]*$");
pattern!(
    HELP: r"^ for (?:(?:an?|some|his|its|help with) )?(?:second |quick |detailed )?(?:review|help|advice|feedback|opinion|ideas?)\b",
    r"^ to \w",
);
pattern!(FOR: &format!(r"^ for {TASK}\W*$"));
pattern!(NOT_ANOTHER: r"^\s*,\s*(?:not|please|then)\b");
pattern!(GOES_ON: r"^(?:\W*$|[,.;:!]|\s+(?:and|please|now|instead|then|so)\b)");
pattern!(SHOULD: r"^ (?:should|must|shall|has to|needs to) ");
pattern!(TO: r"^ to ");
pattern!(AND: r"^\s*(?:[,:]|,? and|,? then) ");
pattern!(CALL: r"^\s*[,:]\s+");
pattern!(SPACE: r"^ +");

/// Judges a name by what stands before and after it in the request of `sentence`.
pub(super) fn is_asked(before: &str, after: &str, sentence: &Sentence) -> bool {
    let before = before.trim_end_matches("the ").trim_end_matches("our ");
    // "Can you use Codex to fix bugs?" may want to know it.
    let works = |text: &str| is_work(text, sentence.asks);
    let follows = |link: &super::pattern::Pattern| link.end_in(after).is_some_and(|end| works(&after[end..]));
    if sentence.asks && OPINION.is_in(&sentence.whole) {
        return false;
    }
    let bare = NOTHING.is_in(after);
    match before {
        "" => follows(&CALL) || SHOULD.end_in(after).is_some_and(|end| is_work(&after[end..], true)),
        "@" => follows(&CALL) || follows(&SPACE),
        _ if ASK.is_in(before) => HELP.is_in(after) || bare && !sentence.asks,
        _ if LET.is_in(before) => follows(&SPACE),
        _ if USE.is_in(before)
            && (bare && !sentence.asks || FOR.is_in(after) || NOT_ANOTHER.is_in(after)) =>
        {
            true
        }
        _ if USE.is_in(before) && follows(&AND) => true,
        _ if WANT.is_in(before) => follows(&TO),
        _ => HAND.is_in(before) && GOES_ON.is_in(after) || WITH.is_in(before) && bare,
    }
}

fn is_work(text: &str, needs_a_thing: bool) -> bool {
    let text = without_politeness(text);
    let works = if needs_a_thing { &WORKS_ON_A_THING } else { &WORKS };
    works.is_in(text) && (!BEHAVES.is_in(text) || WORKS_ON_A_THING.is_in(text))
}
