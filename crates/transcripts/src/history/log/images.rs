//! Images in a line of any agent's log: each agent stores them as base64 next to their type, or as a data URL.

use serde_json::Value;

/// Maximum number of images in one line; more are a video.
const MOST: usize = 8;
/// Types that every browser can display.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const TYPE_KEYS: [&str; 4] = ["media_type", "mimeType", "mime_type", "mediaType"];

/// An image of a prompt or of a tool's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptImage {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime_type: String,
    /// In base64.
    pub data: String,
}

/// Returns the images of a line, each once.
pub(crate) fn images(line: &[u8]) -> Vec<TranscriptImage> {
    let mut found = Vec::new();
    if memchr::memmem::find(line, b"image/").is_some()
        && let Ok(value) = serde_json::from_slice(line)
    {
        collect(&value, &mut found);
    }
    found
}

/// `serde_json` bounds the depth of the recursion.
fn collect(value: &Value, found: &mut Vec<TranscriptImage>) {
    match value {
        Value::String(text) => {
            if let Some((mime_type, data)) =
                text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"))
            {
                add(mime_type, data, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => {
            let mime_type = TYPE_KEYS.iter().find_map(|key| fields.get(*key)?.as_str());
            if let (Some(mime_type), Some(data)) = (mime_type, fields.get("data").and_then(Value::as_str)) {
                add(mime_type, data, found);
            }
            fields.values().for_each(|value| collect(value, found));
        }
        _ => {}
    }
}

fn add(mime_type: &str, data: &str, found: &mut Vec<TranscriptImage>) {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let image = TranscriptImage { mime_type: mime_type.to_owned(), data: data.to_owned() };
    if found.len() < MOST
        && TYPES.contains(&mime_type)
        && !data.is_empty()
        && data.bytes().all(is_base64)
        && !found.contains(&image)
    {
        found.push(image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn images_finds_form_of_every_agent() {
        let png = || TranscriptImage { mime_type: "image/png".into(), data: "iVBO/w==".into() };
        let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBO/w=="});
        let rows = [
            (json!({"message": {"content": [{"type": "image", "source": source}]}}), vec![png()]),
            (
                json!({"content": [{"type": "input_image", "image_url": "data:image/png;base64,iVBO/w=="}]}),
                vec![png()],
            ),
            (json!({"parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBO/w=="}}]}), vec![png()]),
            (json!({"a": source, "b": source}), vec![png()]),
            (json!({"mimeType": "image/svg+xml", "data": "PHN2Zz4="}), vec![]),
            (json!({"mimeType": "image/png", "data": "\"><script>"}), vec![]),
            (json!({"text": "an image/png"}), vec![]),
        ];
        for (line, expected) in rows {
            assert_eq!(images(line.to_string().as_bytes()), expected, "{line}");
        }
        assert_eq!(images(b"image/ not json"), []);
    }
}
