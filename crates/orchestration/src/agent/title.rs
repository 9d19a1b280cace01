//! Generates the title of a session.

use super::limits::{
    TITLE_CHARS, TITLE_PROMPT_CHARS, TITLE_TEMPERATURE, TITLE_TIME, TITLE_TOKENS, TITLE_WORDS,
};
use openagents_core::{
    CancellationToken, isolated,
    model::{Availability, LanguageModel, complete_within},
    text::{cut_at_word, one_line},
};
use std::sync::Arc;

const INSTRUCTIONS: &str = "Give a title of three to five words to the conversation that begins with the user's message. \
    Reply with the title alone: no quotation marks, no full stop.";

/// Returns a title for a prompt: from a local model in memory within 10 s, otherwise its first words. Blocks.
pub fn title(prompt: &str, model: Option<&Arc<dyn LanguageModel>>, cancel: &CancellationToken) -> String {
    let is_at_hand = |model: &&Arc<dyn LanguageModel>| {
        let can = model.capabilities();
        can.local && can.loaded && model.availability() == Availability::Ready
    };
    model
        .filter(is_at_hand)
        .and_then(|model| ask(prompt, model, cancel))
        .unwrap_or_else(|| first_words(prompt))
}

/// Returns the first words.
pub(super) fn first_words(prompt: &str) -> String {
    cut_at_word(&one_line(prompt), TITLE_CHARS)
}

fn ask(prompt: &str, model: &Arc<dyn LanguageModel>, cancel: &CancellationToken) -> Option<String> {
    let given_up = cancel.child_token();
    let _stops_it = given_up.clone().drop_guard();
    let (model, prompt) = (Arc::clone(model), cut_at_word(prompt, TITLE_PROMPT_CHARS));
    let work = move |_: &_| {
        complete_within(model.as_ref(), INSTRUCTIONS, prompt, (TITLE_TEMPERATURE, TITLE_TOKENS), &given_up)
    };
    let answer = isolated::run("title", TITLE_TIME, cancel, work, |(): ()| ()).ok()?.ok()?;
    without_decoration(&answer)
}

fn without_decoration(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.strip_prefix("Title:").unwrap_or(line);
    let decoration = |c: char| c.is_whitespace() || "\"'“”‘’`*#_.:".contains(c);
    let title = one_line(line.trim_matches(decoration));
    TITLE_WORDS
        .contains(&title.split(' ').filter(|word| !word.is_empty()).count())
        .then(|| cut_at_word(&title, TITLE_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{Answer, Scripted, speak};
    use openagents_core::model::{ModelError, StopReason};

    #[test]
    fn title_falls_back_to_first_words() {
        let prompt =
            "Fix the flaky login test, which fails on Mondays because of the time zone of the runner";
        let begins = "Fix the flaky login test, which fails on Mondays because…";
        let rows: [(Answer, &str); 5] = [
            (
                |request, _, say| {
                    assert_eq!(request.options.temperature, 0.1);
                    say(speak("**\"Flaky Login"));
                    say(speak(" Test\"**\n"));
                    Ok(StopReason::EndTurn)
                },
                "Flaky Login Test",
            ),
            (|_, _, _| Err(ModelError::Malformed), begins),
            (
                |_, _, say| {
                    say(speak("Flaky Login Te"));
                    Ok(StopReason::MaxTokens)
                },
                begins,
            ),
            (
                |_, _, say| {
                    say(speak("I would call this conversation something with tests and Mondays."));
                    Ok(StopReason::EndTurn)
                },
                begins,
            ),
            (|_, _, _| Ok(StopReason::EndTurn), begins),
        ];
        for (answer, expected) in rows {
            let model: Arc<dyn LanguageModel> =
                Arc::new(Scripted { answers: vec![answer], ..Scripted::default() });
            assert_eq!(title(prompt, Some(&model), &CancellationToken::new()), expected);
        }
        assert_eq!(title(" Hi\nthere ", None, &CancellationToken::new()), "Hi there");
    }
}
