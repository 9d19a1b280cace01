//! What a prompt wants, by rules over its words alone.

use super::{
    Situation, Topic, about_us,
    explore::{is_about_the_past, is_about_the_present},
    named::Names,
    pattern::pattern,
    prompt::Prompt,
    work::{Work, is_begun_by, work},
};
use crate::update::Target;

/// Words of a question that is answered in a few sentences.
const SHORT: usize = 20;

pattern!(
    EXPLANATION: r"^(?:what|what's|whats|who is|define|meaning of|tell me|explain|describe|how (?:do|to|does|can)|when (?:do|should|to)|is it|difference)\b",
    r"^show (?:me|us) (?:how|an example)\b",
    r"^(?:was ist|was sind|was bedeutet|erkläre|qu'est-ce|que signifie|explique|qué es|qué significa|explica|o que é|cos'è)",
);

/// What a prompt wants, before anybody looks at who is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    /// This one was asked by name.
    Named(Target),
    /// A few words.
    Talk(Topic),
    /// What the tools find.
    Explore(&'static str),
    /// A model at work.
    Work(Work),
    /// The rules cannot tell.
    Unclear,
}

/// Returns what a prompt wants.
pub(super) fn wish(text: &str, situation: &Situation) -> Wish {
    let prompt = Prompt::read(text);
    let names = Names::of(situation);
    if let Some(target) = names.asked(&prompt).next() {
        return Wish::Named(target);
    }
    // "Fix the failing test. What changed?" is more than a lookup.
    let is_lookup = !prompt.pasted && !prompt.sentences.iter().any(|sentence| is_begun_by(&sentence.request));
    if is_lookup && is_about_the_past(&prompt) {
        return Wish::Explore("What was done here before is looked up in the past sessions.");
    }
    if let Some(topic) = about_us::topic(&prompt, &names) {
        return Wish::Talk(topic);
    }
    // "How does ours work?" is an analysis; "where is it?" can be looked up.
    if is_lookup && is_about_the_present(&prompt) {
        return Wish::Explore("What is in this folder is looked up there.");
    }
    if let Some(work) = work(&prompt) {
        return Wish::Work(work);
    }
    let begins = prompt.sentences.first().is_some_and(|sentence| EXPLANATION.is_in(&sentence.request));
    if begins && prompt.words <= SHORT {
        return Wish::Talk(Topic::Explanation);
    }
    Wish::Unclear
}

/// Returns whether a person's words ask `target` to do something.
pub(super) fn is_asked(text: &str, target: &Target, situation: &Situation) -> bool {
    Names::of(situation).asked(&Prompt::read(text)).any(|asked| asked == *target)
}

impl Topic {
    /// Returns why talk about this is answered here.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Greeting | Self::Thanks => "A few kind words need nobody else.",
            Self::Identity | Self::Capabilities => {
                "Questions about OpenAgents are answered by OpenAgents itself."
            }
            Self::Delegates | Self::Agent(_) => {
                "A question about agents is answered here; to name one is not to ask it."
            }
            Self::Title => "Titles and summaries are written here.",
            Self::Explanation => "A short explanation needs nobody else.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str) -> String {
        let wish = wish(text, &Situation::default());
        match wish {
            Wish::Work(_) => "work".to_owned(),
            Wish::Explore(reason) => format!("explore: {reason}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn talk_and_lookups_do_not_swallow_work() {
        let rows = [
            "Can you run the tests?",
            "Could you write the documentation?",
            "Can you review my code?",
            "Do you know how to fix the flaky test in src/net.rs?",
            "Find and fix the memory leak in the parser",
            "Read src/net.rs and rewrite it without unwrap",
            "Open a pull request for this branch",
            "Show the previous value in the tooltip",
            "Fix the failing test. What changed?",
            "Print hello world in Rust",
            // And more of their kind.
            "Could you add a share button to the toolbar?",
            "Could you add a delegate to the table view?",
            "Can you fix the Codex reader?",
            "Fix Codex reader",
            "Fix the crash in Claude or Codex",
            "Where is the retry logic? Make it exponential.",
            "Look at src/net.rs, then simplify the loop",
            "Open an issue about the crash",
            "Fix the parser. Can you help me?",
        ];
        for prompt in rows {
            assert_eq!(says(prompt), "work", "{prompt}");
        }
    }

    #[test]
    fn talk_and_lookups_stay_what_they_are() {
        let talk = [
            "can you help me with coding?",
            "Can you write code?",
            "can you run tests?",
            "Do you know how to write Rust?",
            "can you search the web?",
            "Can you delegate work to other agents?",
            "compare Codex and Claude",
            "Can you write a title for this session?",
        ];
        for prompt in talk {
            assert!(says(prompt).starts_with("Talk("), "{prompt}: {}", says(prompt));
        }
        let lookups = [
            "what changed?",
            "what did we do in the previous session?",
            "Show the previous sessions",
            "Find all build and test scripts",
            "Read the README and tell me what is here",
            "open src/net.rs",
            "Show me where the tooltip is in the view",
        ];
        for prompt in lookups {
            assert!(says(prompt).starts_with("explore"), "{prompt}: {}", says(prompt));
        }
    }
}
