//! Work that needs a model: code, documentation, refactoring, analysis, planning, anything long.

use super::{pattern::pattern, prompt::Prompt};

/// What sort of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Code,
    Documentation,
    Refactoring,
    Analysis,
    Planning,
    Long,
}

impl Work {
    /// Returns what is done, as the subject of a sentence.
    pub(super) fn subject(self) -> &'static str {
        match self {
            Self::Code => "Code",
            Self::Documentation => "A text",
            Self::Refactoring => "A refactoring",
            Self::Analysis => "An analysis",
            Self::Planning => "A plan",
            Self::Long => "A long task",
        }
    }
}

/// Words that begin a request, by kind of work. English, then German, Spanish, French, Portuguese and Italian.
const VERBS: [(Work, &str); 5] = [
    (
        Work::Documentation,
        " document draft annotate comment proofread translate reword rephrase dokumentiere documenta documente ",
    ),
    (
        Work::Refactoring,
        " refactor restructure rework simplify split extract merge reorganize reorganise modularize modularise deduplicate \
         decouple untangle rewrite clean tidy inline move name rename refaktoriere refactoriza refactorise refatore ",
    ),
    (
        Work::Analysis,
        " analyze analyse review audit assess evaluate investigate profile diagnose check examine critique study determine compare \
         benchmark inspect verify figure analysiere prüfe überprüfe analiza revisa révise vérifie analizza ",
    ),
    (
        Work::Planning,
        " plan design architect outline propose estimate prioritize prioritise brainstorm roadmap plane entwirf planifica diseña \
         planifie conçois planeje pianifica ",
    ),
    (
        Work::Code,
        " generate write implement create build add make fix debug repair patch code develop program port convert migrate \
         update change remove delete replace extend hook wire configure upgrade bump install integrate support handle \
         optimize optimise speed test cover mock scaffold prototype finish complete solve set modernize modernise adapt apply \
         correct improve insert resolve revert run sort swap use drop turn put wrap parse format expose enable disable \
         schreib schreibe erstelle generiere implementiere behebe korrigiere programmiere entwickle baue füge ändere lösche \
         escribe crea genera implementa arregla corrige añade agrega \
         écris crée génère implémente ajoute répare \
         escreva crie gere corrija adicione scrivi correggi aggiungi ",
    ),
];

/// Verbs of so many letters are recognised with one slip of the finger.
const LETTERS: usize = 6;

pattern!(
    DOCUMENTS: r"\b(?:readme|docs?|documentation|docstrings?|changelog|release notes|guide|tutorial|blog post|article|essay|report|manual|adr|rfc|poem|haiku|story|song|e-?mail|letter|message|post)\b",
);
pattern!(PLANS: r"\b(?:plan|roadmap|architecture|milestones|strategy|proposal|estimate)\b");
pattern!(
    WANTS: r"^(?:i|we)(?:'d| would)?(?: really| also| just)? (?:want|need|like) (?:a|an|some|two|three|the|more|better)\b",
);
// What can be looked up begins like these.
pattern!(
    PUBLISHES: r"^open (?:an? |the |another )?(?:new |draft )*(?:pull request|pr|merge request|mr|issue|ticket)\b",
);
pattern!(
    PROGRAMS: r"^(?:print|read|open|count) .* in (?:rust|python|swift|typescript|javascript|go|java|kotlin|c|c\+\+|c#|bash|ruby|php|haskell|sql|zig|elixir|scala|perl|lua)$",
);
pattern!(
    SHOWS: r"^(?:show|display|print|hide) .* (?:in|on|as|next to|below|above|under|beside) (?:the|an?|our|each|every) (?:\w+ )?(?:tooltip|sidebar|header|footer|toolbar|menu|dialog|modal|picker|dropdown|badge|status ?bar|title ?bar|tab|page|screen|view|panel|button|row|table|column|list|popup|console|window|cell|card|label)(?:$|,| (?:when|if|while|as|and|with|instead|on|for)\b)",
);
pattern!(SHOWS_ME: r"^show (?:me|us)\b");
pattern!(SOMETHING: r"^(?:it|them|the|this|that|all|any|every|each|an?|those|these|my|our)$");
// Questions whose answer is an analysis.
pattern!(
    ANALYSIS: r"^(?:why|how come)\b",
    r"^how (?:could|can|should|would|might|do|does|did)\b.*\b(?:we|our|this|my|the|it)\b",
    r"^what(?:'s| is) (?:wrong|causing|the (?:best|right|cause|reason|problem))\b",
    r"^what (?:would|should|could|might|are the (?:pros|trade|risks|options))\b",
    r"^should (?:i|we)\b|^walk (?:me|us) through|^go (?:through|over)|^go deep|^think (?:about|through|hard)",
);
// Explanations that are not short.
pattern!(
    IN_DEPTH: r"^(?:explain|describe|tell (?:me|us) (?:about|how|why)|how does|how do)\b.*\b(?:detail|detailed|thorough\w*|comprehensive\w*|step by step|in depth|deeply|exhaustive\w*|everything|with examples)\b",
    r"^(?:explain|describe|tell (?:me|us) (?:about|how|why)) .*\b(?:this|our|my|the) (?:\w+ ){0,2}(?:repo|repository|code|codebase|project|module|file|function|class|app|crate|package|component|service|architecture|flow|system|pipeline|design|tests?|build)\b",
    r"^(?:explain|describe)\b.*(?:\S/\S|\b[a-z_]+\.[a-z]{1,4}\b)",
);

/// Words from which on a prompt is long, whatever it wants.
const LONG: usize = 60;

/// Returns what sort of work a prompt asks for.
pub(super) fn work(prompt: &Prompt) -> Option<Work> {
    let requests = || prompt.sentences.iter().map(|sentence| sentence.request.as_str());
    requests()
        .find_map(begun_by)
        .or_else(|| requests().find_map(by_phrase))
        .or_else(|| (prompt.pasted || prompt.words >= LONG).then_some(Work::Long))
        .or_else(|| requests().find_map(|request| self::by_verb(request, is_nearly_one_of)))
}

/// Returns whether a request begins with work and not with what can be looked up.
pub(super) fn is_begun_by(request: &str) -> bool {
    begun_by(request).is_some()
}

fn begun_by(request: &str) -> Option<Work> {
    let builds = PUBLISHES.is_in(request)
        || PROGRAMS.is_in(request)
        || SHOWS.is_in(request) && !SHOWS_ME.is_in(request);
    by_verb(request, is_one_of).or_else(|| by_second_verb(request)).or(builds.then_some(Work::Code))
}

/// "Find and fix the leak", "Read src/net.rs and rewrite it", "Look at it, then simplify the loop".
fn by_second_verb(request: &str) -> Option<Work> {
    let words: Vec<&str> = request.split_whitespace().collect();
    let mut joints = words.windows(3).enumerate().filter(|(_, joint)| matches!(joint[0], "and" | "then"));
    joints.find_map(|(at, joint)| {
        let (work, _) = VERBS.iter().find(|(_, list)| is_one_of(list, joint[1]))?;
        (at == 1 || SOMETHING.is_in(joint[2])).then_some(*work)
    })
}

fn by_verb(request: &str, is_in: impl Fn(&str, &str) -> bool) -> Option<Work> {
    let mut words = request.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let verb = words.next()?;
    // One word alone says nothing about what to do.
    words.next()?;
    let (work, _) = VERBS.iter().find(|(_, list)| is_in(list, verb))?;
    Some(match work {
        Work::Code if DOCUMENTS.is_in(request) => Work::Documentation,
        Work::Code if PLANS.is_in(request) && (verb == "write" || verb == "make" || verb == "create") => {
            Work::Planning
        }
        other => *other,
    })
}

fn by_phrase(request: &str) -> Option<Work> {
    if WANTS.is_in(request) {
        let documents = DOCUMENTS.is_in(request).then_some(Work::Documentation);
        return documents.or_else(|| PLANS.is_in(request).then_some(Work::Planning)).or(Some(Work::Code));
    }
    (ANALYSIS.is_in(request) || IN_DEPTH.is_in(request)).then_some(Work::Analysis)
}

fn is_one_of(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

fn is_nearly_one_of(list: &str, word: &str) -> bool {
    let is_long = |word: &str| word.chars().nth(LETTERS - 1).is_some();
    let is_near = |known: &&str| is_long(known) && strsim::osa_distance(known, word) == 1;
    is_long(word) && list.split_whitespace().any(|known| is_near(&known))
}
