//! Plays a recorded conversation: `fake-agent replay FILE`, one `{"dir": "client" | "agent", "frame": …}` per line.
//!
//! A client's request is answered with the frames recorded after the next request of that method, in recorded order;
//! if the recorded client sent something in between, the replay waits for it.

use crate::peer::Peer;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, Lines, StdinLock},
    path::Path,
};

struct Replay {
    frames: Vec<(bool, Value)>,
    at: usize,
    input: Lines<StdinLock<'static>>,
    peer: Peer,
}

pub(crate) fn run(path: &Path) -> Option<()> {
    let text = std::fs::read_to_string(path).ok()?;
    let frames = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let frames = frames.map(|mut line| (line["dir"] == "client", line["frame"].take())).collect();
    let mut replay = Replay { frames, at: 0, input: std::io::stdin().lock().lines(), peer: Peer::default() };
    loop {
        let frame = replay.next_frame()?;
        if let (Some(method), Some(id)) = (frame["method"].as_str(), frame.get("id")) {
            replay.answer(method, id)?;
        }
    }
}

impl Replay {
    fn next_frame(&mut self) -> Option<Value> {
        let line = self.input.next()?.ok()?;
        serde_json::from_str(&line).ok()
    }

    fn answer(&mut self, method: &str, id: &Value) -> Option<()> {
        let recorded = self.frames[self.at..]
            .iter()
            .position(|(client, frame)| *client && frame["method"] == method && frame.get("id").is_some());
        let Some(found) = recorded else {
            self.peer.fail(id, -32601, &format!("{method} was not recorded"));
            return Some(());
        };
        self.at += found + 1;
        let recorded_id = self.frames[self.at - 1].1["id"].clone();
        let mut answered = false;
        while let Some((client, frame)) = self.frames.get(self.at).cloned() {
            if client && frame["method"].is_string() && frame.get("id").is_some() {
                // Stops at the client's next request.
                break;
            }
            self.at += 1;
            if client {
                self.wait_for(&frame)?;
            } else if frame["method"].is_null() && frame["id"] == recorded_id {
                let mut frame = frame;
                frame["id"] = id.clone();
                self.peer.write_frame(frame);
                answered = true;
            } else {
                self.peer.write_frame(frame);
            }
        }
        if !answered {
            self.peer.write_frame(
                json!({"id": id, "error": {"code": -32603, "message": "no answer was recorded"}}),
            );
        }
        Some(())
    }

    /// Waits until the client sends the recorded frame: a notification or a response.
    fn wait_for(&mut self, recorded: &Value) -> Option<()> {
        loop {
            let frame = self.next_frame()?;
            let same_word = recorded["method"].is_string() && frame["method"] == recorded["method"];
            let same_answer =
                recorded["method"].is_null() && frame["method"].is_null() && frame["id"] == recorded["id"];
            if same_word || same_answer {
                return Some(());
            }
        }
    }
}
