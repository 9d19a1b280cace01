//! Parameters that a model refuses.

use parking_lot::Mutex;
use std::collections::BTreeSet;

/// A part of a request that some models refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Parameter {
    /// `temperature` and `top_p`: fixed for reasoning models.
    Sampling,
    /// `seed`.
    Seed,
    /// `max_tokens`: newer models want `max_completion_tokens`.
    MaxTokens,
    /// `reasoning_effort`.
    Effort,
    /// `stream_options`.
    Usage,
    /// `tools`.
    Tools,
    /// The turn's reasoning, sent back to the model.
    Thoughts,
}

impl Parameter {
    /// Finds the refused parameter by its name if the server reports it, otherwise from the message.
    pub(super) fn refused(name: Option<&str>, message: &str) -> Option<Self> {
        let by_name = |name: &str| {
            Some(match name.split(['.', '[']).next_back().unwrap_or(name) {
                "temperature" | "top_p" => Self::Sampling,
                "seed" => Self::Seed,
                "max_tokens" => Self::MaxTokens,
                "reasoning_effort" => Self::Effort,
                "stream_options" | "include_usage" => Self::Usage,
                "tools" => Self::Tools,
                "reasoning_content" | "reasoning" => Self::Thoughts,
                _ => return None,
            })
        };
        if let Some(found) = name.and_then(by_name) {
            return Some(found);
        }
        let message = message.to_ascii_lowercase();
        let is_refusal = ["support", "unrecognized", "unknown", "not permitted", "requires", "not allowed"]
            .iter()
            .any(|word| message.contains(word));
        if !is_refusal {
            return None;
        }
        let mut words = message.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        // An error in one of our schemas must not disable all tools, so only known messages do that.
        let named = words.find_map(by_name).filter(|parameter| *parameter != Self::Tools);
        named.or_else(|| {
            let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
            let tools = [
                "support tools",
                "support tool",
                "support function",
                "tools param requires",
                "tool choice requires",
            ];
            let tools = says(&tools).then_some(Self::Tools);
            tools.or_else(|| says(&["support thinking", "support reasoning"]).then_some(Self::Effort))
        })
    }
}

/// Parameters refused so far. Later requests omit them.
#[derive(Debug, Default)]
pub(super) struct Refused {
    parameters: Mutex<BTreeSet<Parameter>>,
    /// The field in which this server sends and accepts reasoning.
    thoughts: Mutex<Option<&'static str>>,
}

impl Refused {
    pub(super) fn add(&self, parameter: Parameter) -> bool {
        self.parameters.lock().insert(parameter)
    }

    pub(super) fn has(&self, parameter: Parameter) -> bool {
        self.parameters.lock().contains(&parameter)
    }

    pub(super) fn tells_thoughts_in(&self, member: &'static str) {
        *self.thoughts.lock() = Some(member);
    }

    /// Returns the field for sending reasoning back, if the server uses and accepts one.
    pub(super) fn thoughts_member(&self) -> Option<&'static str> {
        let member = *self.thoughts.lock();
        member.filter(|_| !self.has(Parameter::Thoughts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_parameters_are_found() {
        let rows = [
            (Some("temperature"), "Unsupported value", Some(Parameter::Sampling)),
            (Some("max_tokens"), "Use 'max_completion_tokens' instead.", Some(Parameter::MaxTokens)),
            (
                None,
                "Unsupported parameter: 'max_tokens' is not supported with this model.",
                Some(Parameter::MaxTokens),
            ),
            (None, "registry.ollama.ai/library/gemma:2b does not support tools", Some(Parameter::Tools)),
            (None, "tools param requires --jinja flag", Some(Parameter::Tools)),
            (
                None,
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
                Some(Parameter::Tools),
            ),
            (None, "\"smollm2\" does not support thinking", Some(Parameter::Effort)),
            (Some("messages[2].reasoning_content"), "Unknown parameter", Some(Parameter::Thoughts)),
            (None, "Unrecognized request argument supplied: reasoning_effort", Some(Parameter::Effort)),
            (None, "Invalid schema for function in tools: 'x' is not supported", None),
            (None, "the tools are fine but the moon is not", None),
            (Some("messages"), "too long", None),
        ];
        for (name, message, expected) in rows {
            assert_eq!(Parameter::refused(name, message), expected, "{message}");
        }
    }
}
