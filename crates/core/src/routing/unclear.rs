//! What a prompt wants where the rules cannot tell: a model that is in memory is asked for one word.

use super::{about_us::Topic, rules::Wish, work::Work};
use crate::{
    CancellationToken, isolated,
    model::{Availability, LanguageModel, complete},
    text::cut_at_word,
};
use std::{sync::Arc, time::Duration};

/// Nobody waits longer for a choice: looking through the folder is never wrong.
const TIME: Duration = Duration::from_secs(2);

/// Characters of the prompt that the model sees.
const CHARACTERS: usize = 600;

const INSTRUCTIONS: &str = "A person uses a program that knows the files of a project and what was done in it. Say with one \
    word what the person's message needs: ANSWER for talk and general knowledge that takes a few sentences, LOOKUP for \
    what can be found in the project's files or in its past sessions, WORK for code, documents, analysis, plans and anything \
    long. Reply with that word alone.";

/// Asks the first model that is on this machine and in memory.
pub(super) fn ask(models: &[Arc<dyn LanguageModel>], prompt: &str, cancel: &CancellationToken) -> Wish {
    let is_at_hand = |model: &&Arc<dyn LanguageModel>| {
        let can = model.capabilities();
        can.local && can.loaded && model.availability() == Availability::Ready
    };
    let Some(model) = models.iter().find(is_at_hand).cloned() else { return Wish::Unclear };
    let given_up = cancel.child_token();
    // A model that is not waited for any more stops as well.
    let _stops_it = given_up.clone().drop_guard();
    let question = format!("The message: {}", cut_at_word(prompt, CHARACTERS));
    let work = move |_: &_| complete(model.as_ref(), INSTRUCTIONS, question, &given_up);
    match isolated::run("routing", TIME, cancel, work, |(): ()| ()) {
        Ok(Ok(said)) => read(&said),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the model did not choose");
            Wish::Unclear
        }
        Err(lost) => {
            tracing::debug!(%lost, "the model did not choose");
            Wish::Unclear
        }
    }
}

/// Takes the first of the words, in whatever surroundings.
fn read(said: &str) -> Wish {
    let said = said.to_lowercase();
    let words = said.split(|c: char| !c.is_alphanumeric());
    let known = words.map(|word| match word {
        "answer" => Wish::Talk(Topic::Explanation),
        "lookup" => Wish::Explore("The model on this computer takes it for a question about this folder."),
        "work" => Wish::Work(Work::Long),
        _ => Wish::Unclear,
    });
    known.into_iter().find(|wish| *wish != Wish::Unclear).unwrap_or(Wish::Unclear)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::testing::{Answer, Scripted, speak},
        model::{ModelError, StopReason},
        routing::{Router, Situation},
        update::{Inline, Target},
    };

    const UNCLEAR: &str = "sidebar flicker";

    fn decide(answer: Answer, prompt: &str) -> (Option<Inline>, Target, usize) {
        let model = Arc::new(Scripted { answers: vec![answer], ..Scripted::default() });
        let router = Router { models: vec![model.clone()] };
        let decision = router.decide(prompt, &Situation::default(), &CancellationToken::new());
        let asked = model.asked.lock().unwrap().len();
        (decision.inline, decision.target, asked)
    }

    #[test]
    fn a_model_decides_what_the_rules_cannot() {
        let rows: [(Answer, Inline); 6] = [
            (
                |_, _, say| {
                    say(speak("**Answer**."));
                    Ok(StopReason::EndTurn)
                },
                Inline::Answer,
            ),
            (
                |_, _, say| {
                    say(speak("{\"choice\": \"LOOK"));
                    say(speak("UP\"}"));
                    Ok(StopReason::EndTurn)
                },
                Inline::Explore,
            ),
            // There is no model for work in this situation.
            (
                |_, _, say| {
                    say(speak("work"));
                    Ok(StopReason::MaxTokens)
                },
                Inline::Guidance,
            ),
            (
                |_, _, say| {
                    say(speak("I would ask Codex."));
                    Ok(StopReason::EndTurn)
                },
                Inline::Explore,
            ),
            (|_, _, _| Err(ModelError::Malformed), Inline::Explore),
            (|_, _, _| panic!("on purpose"), Inline::Explore),
        ];
        for (answer, expected) in rows {
            assert_eq!(decide(answer, UNCLEAR), (Some(expected), Target::Inline, 1));
        }
    }

    #[test]
    fn a_model_is_not_asked_what_the_rules_know() {
        let work: Answer = |_, _, say| {
            say(speak("work"));
            Ok(StopReason::EndTurn)
        };
        for prompt in ["who are you?", "where is it used?", "what is Codex?"] {
            assert_eq!(decide(work, prompt).2, 0, "{prompt}");
        }
    }

    #[test]
    fn a_model_that_says_nothing_is_not_waited_for() {
        let silent: Answer = |_, cancel, _| {
            while !cancel.is_cancelled() {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            Err(ModelError::Cancelled)
        };
        assert_eq!(decide(silent, UNCLEAR), (Some(Inline::Explore), Target::Inline, 1));
    }
}
