//! Splits a response into frames: server-sent events, or the single JSON object of a server that does not stream.

use super::answer::is_error;
use crate::limits::{FRAME, FRAME_PIECE, WHOLE_ANSWER};
use eventsource_stream::{Event, EventStreamError, Eventsource};
use futures::{
    Stream, StreamExt,
    stream::{self, LocalBoxStream},
};
use openagents_core::{json_text, text::Utf8Pieces};
use serde_json::{Value, json};
use std::{cell::Cell, rc::Rc};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lost<E> {
    Network(E),
    TooLong,
    NoEvents,
}

type Chunk<E> = Result<Vec<u8>, Lost<E>>;

pub(super) struct Frames<E> {
    frames: LocalBoxStream<'static, Result<String, Lost<E>>>,
    bytes: Rc<Cell<usize>>,
    is_whole: bool,
}

impl<E: 'static> Frames<E> {
    /// Waits for the first significant byte, which determines the format.
    pub(super) async fn open<B: AsRef<[u8]>>(
        bytes: impl Stream<Item = Result<B, E>> + 'static,
    ) -> Result<Self, Lost<E>> {
        let mut chunks = bytes.map(|chunk| chunk.map(|chunk| chunk.as_ref().to_vec())).boxed_local();
        let mut begin: Vec<u8> = Vec::new();
        while first_byte(&begin).is_none() && begin.len() <= FRAME {
            match chunks.next().await {
                Some(chunk) => begin.append(&mut chunk.map_err(Lost::Network)?),
                None => break,
            }
        }
        // Checked before the byte order mark is removed: a second one is content,
        // wherever the network splits the bytes.
        let is_whole = first_byte(&begin) == Some(b'{');
        if begin.starts_with(BYTE_ORDER_MARK) {
            begin.drain(..BYTE_ORDER_MARK.len());
        }
        let chunks = stream::iter([Ok(begin)]).chain(chunks.map(|chunk| chunk.map_err(Lost::Network)));
        let since = Rc::new(Cell::new(0));
        let frames = if is_whole {
            stream::once(read_whole(chunks.boxed_local())).boxed_local()
        } else {
            read_events(chunks.boxed_local(), Rc::clone(&since))
        };
        Ok(Self { frames, bytes: since, is_whole })
    }

    /// Returns whether the response is a single JSON object.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(super) async fn next(&mut self) -> Option<Result<String, Lost<E>>> {
        let frame = self.frames.next().await;
        self.bytes.set(0);
        frame
    }
}

/// Returns the first non-whitespace byte; `None` while it is unknown.
fn first_byte(begin: &[u8]) -> Option<u8> {
    let text = match begin.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => text,
        None if BYTE_ORDER_MARK.starts_with(begin) => return None,
        None => begin,
    };
    text.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

async fn read_whole<E>(mut chunks: LocalBoxStream<'static, Chunk<E>>) -> Result<String, Lost<E>> {
    let mut body = Vec::new();
    while let Some(chunk) = chunks.next().await {
        body.append(&mut chunk?);
        if body.len() > WHOLE_ANSWER {
            return Err(Lost::TooLong);
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn read_events<E: 'static>(
    chunks: LocalBoxStream<'static, Chunk<E>>,
    since: Rc<Cell<usize>>,
) -> LocalBoxStream<'static, Result<String, Lost<E>>> {
    let pieces = chunks.flat_map(|chunk| {
        stream::iter(match chunk {
            Ok(chunk) => chunk.chunks(FRAME_PIECE).map(|piece| Ok(piece.to_vec())).collect(),
            Err(lost) => vec![Err(lost)],
        })
    });
    let counted = pieces.map(move |piece| {
        let piece = piece?;
        since.set(since.get() + piece.len());
        if since.get() > FRAME { Err(Lost::TooLong) } else { Ok(piece) }
    });
    let mut text = Utf8Pieces::default();
    let mut errors = ErrorLines::default();
    let valid = counted.map(move |piece| piece.map(|piece| errors.push(&text.push(&piece)).into_bytes()));
    // The parser panics if the stream begins with a byte order mark, even the second of two, so a line break comes
    // first. The line breaks at the end complete the last frame of a server that omits the blank line.
    let begun = stream::iter([Ok(b"\n".to_vec())]).chain(valid);
    let ended = begun.chain(stream::iter([Ok(b"\n\n".to_vec())]));
    let frame = |event: Result<Event, EventStreamError<Lost<E>>>| match event {
        Ok(event) if event.event == "error" => Ok(error_frame(event.data)),
        Ok(event) => Ok(event.data),
        Err(EventStreamError::Transport(lost)) => Err(lost),
        Err(EventStreamError::Utf8(_) | EventStreamError::Parser(_)) => Err(Lost::NoEvents),
    };
    ended.eventsource().map(frame).boxed_local()
}

fn error_frame(data: String) -> String {
    match json_text::from_str(&data) {
        Ok(frame) if is_error(&frame) => data,
        Ok(error @ Value::Object(_)) => json!({"error": error}).to_string(),
        _ => json!({"error": {"message": data}}).to_string(),
    }
}

/// Turns errors outside of any event into events; parsers skip such lines.
///
/// llama-server sent `error: {…}` until <https://github.com/ggml-org/llama.cpp/pull/16109>; proxies forward the body
/// of an error unchanged (<https://github.com/lemonade-sdk/lemonade/issues/2826>).
#[derive(Debug)]
struct ErrorLines {
    begun: Option<String>,
}

impl Default for ErrorLines {
    fn default() -> Self {
        Self { begun: Some(String::new()) }
    }
}

impl ErrorLines {
    /// Line prefixes and their replacements. The line break ends the previous event.
    const EVENTS: [(&str, &str); 2] =
        [("error:", "\nevent: error\ndata:"), ("{\"error\":", "\nevent: error\ndata:{\"error\":")];

    fn push(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            if let Some(begun) = &mut self.begun {
                begun.push(letter);
                if let Some((_, event)) = Self::EVENTS.iter().find(|(line, _)| line == begun) {
                    out.push_str(event);
                    self.begun = None;
                    continue;
                }
                if Self::EVENTS.iter().any(|(line, _)| line.starts_with(begun.as_str())) {
                    continue;
                }
                out.push_str(begun);
            } else {
                out.push(letter);
            }
            self.begun = matches!(letter, '\n' | '\r').then(String::new);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use proptest::prelude::*;

    fn split_frames(chunks: Vec<Vec<u8>>) -> (Vec<String>, Option<Lost<()>>) {
        block_on(async {
            let mut shown = Vec::new();
            let mut frames = match Frames::open(stream::iter(chunks.into_iter().map(Ok))).await {
                Ok(frames) => frames,
                Err(lost) => return (shown, Some(lost)),
            };
            loop {
                match frames.next().await {
                    None => return (shown, None),
                    Some(Ok(frame)) => shown.push(frame),
                    Some(Err(lost)) => return (shown, Some(lost)),
                }
            }
        })
    }

    fn cut(bytes: &[u8], at: &[prop::sample::Index]) -> Vec<Vec<u8>> {
        let mut cuts: Vec<usize> = at.iter().map(|index| index.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
    }

    #[test]
    fn responses_are_split_into_frames() {
        let rows: [(&[u8], &[&str]); 21] = [
            (b"data: a\n\ndata: b\n\n", &["a", "b"]),
            (b"data:a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            (b": keep-alive\n\n: again\r\n\r\ndata: a\n\n", &["a"]),
            (b"event: x\nid: 1\nretry: 5\ndata: a\ndata: b\n\n", &["a\nb"]),
            (b"data: a\n\ndata: the end is missing", &["a", "the end is missing"]),
            (b"\xef\xbb\xbfdata: a\n\n", &["a"]),
            (b"\n\n \n{\"a\":\n\n1}", &["\n\n \n{\"a\":\n\n1}"]),
            (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", &["b"]),
            (b"\xef\xbb\xbf{}", &["{}"]),
            (b"\xef\xbb\xbf", &[]),
            (b"\xef", &[]),
            (b"data: h\xc3\xa9\xf0\x9f\x98\n\n", &["h\u{e9}\u{fffd}"]),
            (b"{\"a\": \"\xf0\x9f\"}", &["{\"a\": \"\u{fffd}\"}"]),
            (
                b"data: a\n\nerror: {\"code\":500}\n\ndata: [DONE]\n\n",
                &["a", r#"{"error":{"code":500}}"#, "[DONE]"],
            ),
            (b"data: a\nerror: oops\r\nerror", &["a", r#"{"error":{"message":"oops"}}"#]),
            (b"event: error\ndata: {\"error\":{}}\n\n", &[r#"{"error":{}}"#]),
            (b"event: error\ndata: {\"message\":\"oops\"}\n\n", &[r#"{"error":{"message":"oops"}}"#]),
            (b"data: a\n\n{\"error\":{\"code\":400}}", &["a", r#"{"error":{"code":400}}"#]),
            (b"errors: a\n\nid: error:\ndata: error: b\n\n", &["error: b"]),
            (b"", &[]),
            (b"<html>data: no</html>\n\n", &[]),
        ];
        for (bytes, expected) in rows {
            let expected: Vec<String> = expected.iter().map(|frame| (*frame).to_owned()).collect();
            assert_eq!(split_frames(vec![bytes.to_vec()]), (expected.clone(), None), "{bytes:?}");
            let single: Vec<_> = bytes.iter().map(|byte| vec![*byte]).collect();
            assert_eq!(split_frames(single).0, expected, "byte by byte: {bytes:?}");
        }
    }

    #[test]
    fn endless_frame_is_rejected() {
        let chunk = vec![b'a'; 1 << 20];
        let long = |begin: &[u8]| {
            split_frames(std::iter::once(begin.to_vec()).chain((0..20).map(|_| chunk.clone())).collect())
        };
        assert_eq!(long(b"data: ").1, Some(Lost::TooLong));
        assert_eq!(long(b": comment ").1, Some(Lost::TooLong));
        assert_eq!(long(b"{\"a\": \"").1, Some(Lost::TooLong));
        let spaces = vec![vec![b' '; 1 << 20]; 20];
        assert_eq!(split_frames(spaces).1, Some(Lost::TooLong));
        // Many short frames don't count as a long one.
        let (frames, lost) = split_frames((0..30).map(|_| b"data: a\n\n".repeat(10_000)).collect());
        assert_eq!((frames.len(), lost), (300_000, None));
    }

    #[test]
    fn byte_order_marks_may_be_split_anywhere() {
        let bytes = "\u{feff}\u{feff}{\"a\":1}".as_bytes();
        let whole = split_frames(vec![bytes.to_vec()]);
        for at in 1..bytes.len() {
            assert_eq!(split_frames(vec![bytes[..at].to_vec(), bytes[at..].to_vec()]), whole, "{at}");
        }
    }

    proptest! {
        #[test]
        fn frames_accept_any_bytes(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            at in prop::collection::vec(any::<prop::sample::Index>(), 0..8))
        {
            let chunks = cut(&bytes, &at);
            prop_assert_eq!(split_frames(chunks).0, split_frames(vec![bytes]).0);
        }

        #[test]
        fn frames_ignore_chunk_boundaries(
            parts in prop::collection::vec(prop::sample::select(vec!["data: ", "data:", ": ", "\n", "\r\n", "\r", "\n\n",
                "{\"a\":1}", "é🦊", "[DONE]", "event: x", "\u{feff}", " "]), 0..20),
            at in prop::collection::vec(any::<prop::sample::Index>(), 0..8))
        {
            let bytes = parts.concat().into_bytes();
            let chunks = cut(&bytes, &at);
            prop_assert_eq!(split_frames(chunks), split_frames(vec![bytes]));
        }
    }
}
