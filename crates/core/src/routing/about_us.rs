//! Talk: with us, about us, about the agents. It is answered in words, and nothing is run for it.

use super::{
    named::Names,
    pattern::pattern,
    prompt::{Prompt, Sentence, without_politeness},
    work::is_begun_by,
};
use crate::update::Target;

/// What a person wants to hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// "Hi."
    Greeting,
    /// "Thanks!"
    Thanks,
    /// Who we are.
    Identity,
    /// What we can do, and where what is asked goes.
    Capabilities,
    /// Whom we can hand work to.
    Delegates,
    /// Somebody whom we can hand work to.
    Agent(Target),
    /// A title or a summary of this session.
    Title,
    /// Something that is explained in a few sentences.
    Explanation,
}

/// Longer than this, a prompt is more than talk.
const WORDS: usize = 30;

const GREETINGS: &str = " hi hello hey heya hiya yo greetings howdy morning evening afternoon hola hallo bonjour salut moin ciao \
    servus olá ";
const GREETING_GLUE: &str = " good there all everyone team openagents again folks you buenos días buenas tardes guten tag morgen \
    abend grüß gott bom dia to what's whats up how are is it going doing today ";
const THANKS: &str = " thanks thank thx ty cheers danke merci gracias obrigado grazie ok okay great nice cool perfect awesome \
    bye goodbye excellent wonderful got understood lovely brilliant super good ";
const THANKS_GLUE: &str = " you so much very a lot for the your that's all it that this was helpful help is good job well done \
    now and everybody work i see me one what needed to know u again guys both really fine makes sense appreciated ";

pattern!(HOW_ARE_YOU: r"^(?:so )?how (?:are|r) (?:you|u)(?: doing| today)*\W*$|^what'?s up\W*$");

pattern!(
    IDENTITY: r"^(?:who|what) (?:exactly )?(?:are|r) (?:you|u|openagents)(?: exactly| really|,|$)",
    r"^(?:who|what|what's|whats)(?: is|'s)? (?:openagents|your name|ur name)$|^who(?: is|'s) this$",
    r"^(?:introduce yourself|tell (?:me|us) (?:something |more |a bit )?about (?:yourself|you|openagents))",
    r"^who (?:made|built|created|wrote|develops|makes|owns) (?:you|u|openagents)",
    r"^are (?:you|u) (?:a|an|the|human|real|open|free|chatgpt|gpt|claude|codex|gpt-oss|openagents|alive|sentient)\b",
    r"^(?:wer|was) (?:bist|seid|sind) (?:du|ihr|sie)\b",
    r"^wie (?:heißt|heisst) (?:du|ihr)\b",
    r"^(?:qui (?:es-tu|êtes-vous)|tu es qui|qui es tu|qu'es-tu)",
    r"^qui[eé]n(?:es)? (?:eres|sois|son|es usted)\b|^c[oó]mo te llamas",
    r"^chi (?:sei|siete)\b|^quem (?:é|és) (?:você|tu)\b",
);
pattern!(
    CAPABILITIES: r"^what (?:else |exactly )?(?:can|could|do|will|would) (?:you|u|we|openagents) (?:do|help|offer|support|know|answer)\b",
    r"^how (?:do|does|can|could) (?:you|u|openagents) (?:work|help)\b",
    r"^how (?:do|can|should) i (?:use|talk to|work with) (?:you|openagents)\b",
    r"^(?:what|which) (?:are|is) (?:your|openagents'?) ",
    r"^what's your |^help$|^what should i ask",
    r"^(?:are|r) (?:you|u) (?:able|allowed|capable|good)\b",
    r"^(?:which|what) (?:tools?|models?|languages?|commands?|modes?|features?) (?:can|do|are|have|could) (?:you|u|i|we|openagents|available)\b",
    r"^(?:do|does|will|can|is) (?:you|u|openagents|my (?:code|data|prompt)s?)\b.*\b(?:send|sent|upload|uploaded|share|shared|private|cloud|offline|internet|leave|leaves)\b",
    r"^do (?:you|u|openagents) (?:support|speak|have|need|understand|run|use|cost|store|keep)\b",
    r"^was (?:kannst|könnt) (?:du|ihr)\b|^que (?:peux-tu|pouvez-vous) faire|^qu[eé] (?:puedes|sabes) hacer|^cosa (?:puoi|sai) fare",
);
// Questions for a capability, as long as nothing particular follows: "Can you help me with coding?"
pattern!(
    CAN_YOU: r"^do (?:you|u) know how to ",
    r"^(?:can|could|do|will|would) (?:you|u|openagents)(?: also| even| actually| please)?(?: |$)",
);
const GENERIC: &str = " help me us with to in for on code coding program programming software development develop apps app scripts \
    tests testing files file documentation docs images agents agent tools commands things stuff questions answer read write edit run \
    create make generate debug debugging review explain understand refactor and or just only them it all any my our some \
    python rust swift typescript javascript go java kotlin c english german spanish french other languages language \
    delegate work search find open web browse the internet my own speak talk listen see remember ";

// "Can you run tests?" asks what we can do, "Can you run the tests?" asks for it.
pattern!(PARTICULAR: r"\b(?:the|my|our|this|that|these|those|it|an?)\b");

pattern!(
    DELEGATES: r"^(?:who|whom|which (?:coding )?agents?|what (?:coding )?agents?|which providers?)\b.*\b(?:can|could|do|does|would|are|will|is)\b.*\b(?:you|u|we|i|openagents|available|installed|there|here)\b",
    r"^(?:can|could|do|will|would|how do|how does|when do) (?:you|u|openagents|i)\b.*\bdelegat\w*",
    r"^(?:list|show|name)(?: me)? (?:all )?(?:the |your |available |installed )+agents?$",
    r"^who else\b|^whom? can i ask",
);
pattern!(
    ABOUT_SOMEBODY: r"^(?:what|what's|whats|who|who's|how|when|why|where|which|is|are|does|do|can|could|should|would|will|has|have)\b",
    r"^(?:tell|explain|describe|compare|define)\b|\bvs\b|\bversus\b|\bor\b",
);
// What makes it a question about the folder and not about somebody.
pattern!(
    ABOUT_THE_FOLDER: r"\b(?:here|this (?:repo|repository|project|folder|file|code|codebase)|yesterday|today|last|commit\w*|changed?|edit\w*|touch\w*|files?|sessions?|worked|working)\b",
    r"\b\S+\.[a-z]{1,4}\b|\S/\S",
);

pattern!(
    TITLE: r"^(?:suggest|give|propose|find|pick|come up with|make|write|think of|generate|need|what would be)\b.*\b(?:titles?|names?|tags?|labels?|summary|recap|headline|subject)\b.*\b(?:this|the|our) (?:session|conversation|chat|thread|discussion)$",
    r"^(?:title|name|label|tag) (?:this|the|our) (?:session|conversation|chat|thread|discussion)$",
    r"^(?:sum(?:mari[sz]e)?(?: up)?|recap|tl;?dr)\b.*\b(?:(?:this|the|our) (?:session|conversation|chat|thread|discussion)|so far|we (?:said|discussed)|above)\b",
    r"^(?:tl;?dr|recap|summari[sz]e|sum up)$",
);

/// Returns what a prompt is about where it is talk.
pub(super) fn topic(prompt: &Prompt, names: &Names) -> Option<Topic> {
    if prompt.words > WORDS || prompt.pasted {
        return None;
    }
    if is_only(&prompt.text, GREETINGS, GREETING_GLUE) || HOW_ARE_YOU.is_in(&prompt.text) {
        return Some(Topic::Greeting);
    }
    if is_only(&prompt.text, THANKS, THANKS_GLUE) {
        return Some(Topic::Thanks);
    }
    // "And what can you do?", "Hey, who are you?"
    let topic = |sentence: &Sentence| {
        [sentence.whole.as_str(), sentence.request.as_str()].into_iter().find_map(|text| of(text, names))
    };
    let said = prompt.sentences.iter().map(|sentence| (topic(sentence), is_begun_by(&sentence.request)));
    let said: Vec<_> = said.collect();
    // "Fix the parser. Can you help me?" is more than talk.
    let is_talk = said.iter().all(|(topic, is_work)| topic.is_some() || !is_work);
    said.into_iter().find_map(|(topic, _)| topic).filter(|_| is_talk)
}

fn of(text: &str, names: &Names) -> Option<Topic> {
    let request = without_politeness(text);
    let is_work = is_begun_by(request);
    if TITLE.is_in(text) {
        Some(Topic::Title)
    } else if is_work && PARTICULAR.is_in(request) {
        None
    } else if IDENTITY.is_in(text) {
        Some(Topic::Identity)
    } else if DELEGATES.is_in(text) {
        Some(Topic::Delegates)
    } else if CAPABILITIES.is_in(text) || is_general(text) {
        Some(Topic::Capabilities)
    } else {
        let about = names.first(text).filter(|_| !ABOUT_THE_FOLDER.is_in(text));
        let is_short = text.split_whitespace().count() <= 3 && !is_work;
        about.filter(|_| is_short || ABOUT_SOMEBODY.is_in(text)).map(Topic::Agent)
    }
}

fn is_general(text: &str) -> bool {
    CAN_YOU.end_in(text).is_some_and(|end| words(&text[end..]).all(|word| is_one_of(GENERIC, word)))
}

/// Every word is one of both lists, one at least of the first.
fn is_only(text: &str, telling: &str, glue: &str) -> bool {
    words(text).any(|word| is_one_of(telling, word))
        && words(text).all(|word| is_one_of(telling, word) || is_one_of(glue, word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty())
}

fn is_one_of(list: &str, word: &str) -> bool {
    list.match_indices(word)
        .any(|(at, _)| list[..at].ends_with(' ') && list[at + word.len()..].starts_with(' '))
}
