//! Questions about the past and the present of the workspace. The tools answer them, without a model.

use super::{pattern::pattern, prompt::Prompt};

pattern!(
    PAST: r"^(?:what|which|who|when|where|how|show|list|tell|summari[sz]e|recap|find|did|do you (?:remember|know))\b.*\b(?:yesterday|last (?:week|night|time|session|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|earlier|this (?:week|morning)|today|recent(?:ly)?|lately|previously|previous (?:sessions?|work|conversations?|chats?|prompts?|changes|commits?|week|day|month)|(?:days?|hours?|weeks?) ago|past (?:sessions?|week|days)|left off|(?:working|worked) on|been (?:doing|up to))\b",
    r"^(?:what|where|how) (?:did|were|was|have|had|has) (?:we|i|they|the agents?)\b",
    r"^(?:what|which files?|where) (?:did|has|have|was|were) (?:codex|claude|claude code|gpt-oss|the agents?|you)\b.*\b(?:chang\w*|edit\w*|touch\w*|commit\w*|do|done|work\w*|here|fix\w*|writ\w*|stop\w*)\b",
    r"^(?:pick|carry|start|go|continue|resume)\b.*\bwhere (?:we|i)\b|\bleft off\b|^catch (?:me|us) up|^(?:continue|resume)(?: the| my| our)?(?: last| previous)?(?: work| session)?$",
    r"^(?:what's|what is|what was|what are|anything) (?:still |left |the )?(?:left|open|next|pending|unfinished|to do|todo|status)\b",
    r"^what\b.*\bnext$",
    r"^what(?:'s)? (?:changed|happened|new)\b|^what has changed\b|^status$",
);
pattern!(
    PRESENT: r"^(?:where|wo|woran|dónde|donde|où|onde|dove)\b",
    r"^(?:which|who|whose)\b",
    r"^(?:find|show|list|search|grep|look|locate|open|read|print|cat|count|see|scan|explore|summari[sz]e)\b",
    r"^what(?:'s| is| are) (?:in|inside|this|that|here|the|our|my|going on)\b",
    r"^what (?:does|do|did) (?:this|the|our|my|it)\b",
    r"^(?:is|are|was|were|does|do|has|have) (?:there|this|the|it|we|our|any|anything|anybody|someone)\b",
    r"^how (?:many|much|big|large|old|often)\b",
    r"^how (?:is|are|was|were)\b.*\b(?:used|called|implemented|handled|organi[sz]ed|structured|stored|configured|done|loaded|named|tested|built)\b",
);
// These look like it and are not: the words for something, and how something is done in general.
pattern!(
    IN_GENERAL: r"\b(?:difference between|differences? of|meaning of|stands? for|point of using)\b",
    r"^(?:what|whats|what's|what is) (?:the )?(?:difference|meaning|definition|purpose of an?)\b",
    r"^show (?:me|us) (?:how|an example|a way)\b",
);

/// Returns whether a prompt asks what was done here before.
pub(super) fn is_about_the_past(prompt: &Prompt) -> bool {
    prompt.sentences.iter().any(|sentence| PAST.is_in(&sentence.request) || PAST.is_in(&sentence.whole))
}

/// Returns whether a prompt asks what is where in the workspace.
pub(super) fn is_about_the_present(prompt: &Prompt) -> bool {
    let is_present = |text: &str| PRESENT.is_in(text) && !IN_GENERAL.is_in(text);
    prompt.sentences.first().is_some_and(|sentence| is_present(&sentence.request))
}
