//! Renders the template of a file: untrusted code, with limits on steps and depth.

use super::{format::ChatError, shield::Shield};
use crate::limits::{PROMPT_BYTES, TEMPLATE_BYTES, TEMPLATE_DEPTH, TEMPLATE_STEPS};
use minijinja::{
    Environment, Error, ErrorKind,
    value::{Kwargs, Value},
};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::{io, sync::Arc};

/// Renders a template with the functions and filters that chat templates expect.
pub(super) fn render(source: &str, context: &Value, shield: &Arc<Shield>) -> Result<String, ChatError> {
    if source.len() > TEMPLATE_BYTES {
        return Err(ChatError::Template(format!("it has {} bytes", source.len())));
    }
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_fuel(Some(TEMPLATE_STEPS));
    environment.set_recursion_limit(TEMPLATE_DEPTH);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment
        .add_function("strftime_now", |format: String| jiff::Zoned::now().strftime(&format).to_string());
    let shield = Arc::clone(shield);
    environment.add_filter("tojson", move |value: Value, options: Kwargs| to_json(&shield, &value, &options));
    let mut prompt = Prompt(Vec::new());
    let template = environment.template_from_str(source).map_err(refused)?;
    template.render_captured_to(context, &mut prompt).map_err(refused)?;
    // Templates only write whole strings.
    Ok(String::from_utf8_lossy(&prompt.0).into_owned())
}

/// The output of a template, up to [`PROMPT_BYTES`].
struct Prompt(Vec<u8>);

impl io::Write for Prompt {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > PROMPT_BYTES {
            return Err(io::Error::other("its prompt is too long"));
        }
        self.0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn refused(error: Error) -> ChatError {
    let what = match std::error::Error::source(&error) {
        Some(source) if error.kind() == ErrorKind::WriteFailure => source.to_string(),
        _ => error.detail().map_or_else(|| error.kind().to_string(), str::to_owned),
    };
    let place = error.line().map(|line| format!(" (line {line})")).unwrap_or_default();
    ChatError::Template(what.lines().next().unwrap_or_default().to_owned() + &place)
}

/// Formats JSON like Python, as in the training data. The result is text, not markup, so it becomes a placeholder.
fn to_json(shield: &Shield, value: &Value, options: &Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let bad = |error: serde_json::Error| Error::new(ErrorKind::BadSerialization, error.to_string());
    let value = serde_json::to_value(value).map_err(bad)?;
    Ok(shield.json(&value, |value| match indent {
        Some(indent) => write(value, PrettyFormatter::with_indent(" ".repeat(indent.min(16)).as_bytes())),
        None => write(value, Python),
    }))
}

fn write(value: &serde_json::Value, formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    // Serializing into memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
