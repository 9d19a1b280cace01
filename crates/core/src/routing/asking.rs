//! Whether the words around a name ask whoever bears it to do something. Work goes off the machine by this judgement alone,
//! so a sentence that can be read in another way is no request.

use super::{
    pattern::{Pattern, pattern},
    prompt::{Sentence, without_politeness},
};

/// What is done to a project and hardly ever said of a feature of it.
const WORK: &str =
    r"(?:fix|debug|repair|write|rewrite|implement|refactor|review|analy[sz]e|document|investigate)";

/// What is work only together with what it is done to.
const DEED: &str = "(?:do|try|take|add|create|build|make|generate|solve|test|run|check|change|update|remove|delete|replace|\
    improve|optimi[sz]e|plan|design|draft|migrate|port|convert|finish|complete|continue(?: with)?|explain|describe|summari[sz]e|\
    extract|simplify|split|merge|rename|move|translate|clean up|set up|upgrade|prepare|audit|inspect|find|handle|answer|\
    look (?:at|into|for|over|through)|go (?:over|through)|think about)";

/// What begins with these is something particular.
const THING: &str =
    r"(?:(?:this|that|it|the|my|our|all|these|those|them|everything|both|some|every|over)\b|\S*\w[./]\w)";

/// Work without a verb of its own.
const GO: &str =
    r"(?:have|take|do) an? (?:\w+ )?(?:go|look|stab|crack|pass|review)\b|take care of|take (?:this|it) over";

/// What a person points at and hands over.
const TASK: &str = r"(?:this|that|it|these|those|them|all of (?:this|that|it)|(?:the|this|that) (?:whole |entire |rest of the )?(?:task|job|work)|(?:this|that) (?:one|bug|issue|ticket|feature|fix|refactoring|refactor|migration|problem|review|change))";

pattern!(WORKS: &format!(r"^{WORK}\b|^{DEED} {THING}|^(?:{GO})|^(?:take over|finish|continue|do|try)\W*$"));
pattern!(WORKS_ON_A_THING: &format!(r"^(?:{WORK}|{DEED}) {THING}|^(?:{GO})|^take over\W*$"));
// How somebody works, and not how a program behaves.
pattern!(IS_DUE: r"^(?:fix|debug|repair|rewrite|refactor|review|implement|investigate|do|try|take over)\b");
// "Let it write to the log", "Have it delete the file on start", "Use it, not the other, as the default".
pattern!(BEHAVES: r"^\w+ (?:to|into|in|from|on|as|at|by)\b");
pattern!(
    DEPENDS: r"\b(?:when|whenever|while|once|until|unless|before|after|if|by default|automatically|each time|every time|as (?:the|an?|our))\b",
    r"\b(?:on|at|with) (?:every|each|start|startup|launch|push|save|exit|error|click)\b",
);

// What stands before the name, by what may follow it.
pattern!(ASK: r"^(?:ask|tell|instruct) $");
pattern!(LET: r"^(?:let|have) $");
pattern!(USE: r"^use $");
pattern!(WANT: r"^get $|^(?:i|we)(?:'d| would)? (?:want|need|like) $");
pattern!(
    HAND: &format!(r"^(?:delegate|hand|give|assign|leave)(?: over| off)? {TASK}(?: over| off| on)? to $"),
    r"^(?:delegate|hand)(?: over| off)? (?:the|my|our|this|that|these|those) (?:\w+ )?(?:tests?|fix|bugs?|review|refactoring|refactor|migration|issue|ticket|feature|implementation|rest|documentation|docs|cleanup)(?: over| off)? to $",
);
pattern!(SEND: r"^(?:send|pass|forward|route) (?:this|(?:the|this|that) (?:task|job|bug|issue))(?: over| on)? to $");
pattern!(
    WITH: &format!(r"^(?:do|implement|fix|write|build|refactor|rewrite|review|analy[sz]e|document|plan|generate|solve|finish) {TASK} (?:with|using|via|through) $"),
    &format!(r"^(?:run|put) {TASK} through $"),
);
pattern!(OPINION: r"^would (?:you|u|we) (?:use|let|have|want|like)\b|^have\b");

// What follows it.
pattern!(NOTHING: r"^[\s.!,;:]*(?:please)?[\s.!]*$");
pattern!(
    HELP: r"^ for (?:(?:an?|some|his|its) )?(?:second |quick |detailed )?(?:review|help|advice|feedback|opinion|ideas?)(?:$|[,.;]| (?:of|on|with|about)\b)",
    r"^ to (?:please )?(?:commit|push|open|count|list|compare|estimate|suggest|propose|search|read|come up with|tell (?:me|us)|give (?:me|us))\b",
);
pattern!(FOR: &format!(r"^ for {TASK}\W*$"));
pattern!(NOT_ANOTHER: r"^\s*,\s*(?:not|please)\b");
pattern!(GOES_ON: r"^(?:\W*$|[,.;:!]|\s+(?:and|please|now|instead|then|so)\b)");
pattern!(SHOULD: r"^ should ");
pattern!(TO: r"^ to ");
pattern!(PAUSE: r"^\s*[,:] ");
// "Codex: fix the title" is how commits are called.
pattern!(CALL: r"^\s*,\s+", r"^\s*:\s+(?:please|pls|can you|could you)\b");
pattern!(SPACE: r"^ +");

/// Judges a name by what stands before and after it in the request of `sentence`.
pub(super) fn is_asked(before: &str, after: &str, sentence: &Sentence) -> bool {
    let before = before.trim_end_matches("the ").trim_end_matches("our ");
    if DEPENDS.is_in(after) || sentence.asks && OPINION.is_in(&sentence.whole) {
        return false;
    }
    // "Can you use Codex to fix bugs?" may want to know it.
    let works = |text: &str| is_work(text, sentence.asks);
    let follows = |link: &Pattern| link.end_in(after).is_some_and(|end| works(&after[end..]));
    let is_due = |text: &str| IS_DUE.is_in(text) && is_work(text, true);
    let bare = NOTHING.is_in(after);
    match before {
        "" => follows(&CALL) || SHOULD.end_in(after).is_some_and(|end| is_due(&after[end..])),
        "@" => follows(&CALL) || follows(&SPACE) || follows(&PAUSE),
        _ if ASK.is_in(before) => follows(&TO) || HELP.is_in(after) || bare && !sentence.asks,
        _ if LET.is_in(before) => follows(&SPACE),
        _ if USE.is_in(before) => {
            let just_so = FOR.is_in(after) || NOT_ANOTHER.is_in(after) || bare && !sentence.asks;
            just_so || follows(&PAUSE) || follows(&TO)
        }
        _ if WANT.is_in(before) => follows(&TO),
        _ if HAND.is_in(before) => GOES_ON.is_in(after),
        _ => (SEND.is_in(before) || WITH.is_in(before)) && bare,
    }
}

fn is_work(text: &str, needs_a_thing: bool) -> bool {
    let text = without_politeness(text.trim_start());
    let works = if needs_a_thing { &WORKS_ON_A_THING } else { &WORKS };
    works.is_in(text) && (!BEHAVES.is_in(text) || WORKS_ON_A_THING.is_in(text))
}
