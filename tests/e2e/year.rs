//! A year of sessions as agents really leave them: continued in further files, reverted, forked, copied, archived. A
//! book records what was written, and `openagents sessions` has to list, count and find each conversation once.

use anyhow::{Context, Result, ensure};
use openagents_e2e::terminal::program;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Command,
};

/// Number of sessions: one for every six hours of a year.
const SESSIONS: usize = 1_460;
/// The time of the newest session: 2026-11-01.
const NEWEST: i64 = 1_793_491_200_000;
const STEP: i64 = 6 * 3_600_000;
/// Each prompt has a unique word. Every 61st session's words are searched, so that every kind of session has its turn.
const SEARCHED: usize = 61;

/// The expected result of the list and the search for a session.
#[derive(Debug, Default)]
struct Kept {
    /// The words of its own prompts, except those that were undone.
    said: Vec<String>,
    undone: Vec<String>,
    /// The number of prompts inherited from the session that it continues.
    inherited: u64,
    archived: bool,
    continues: Option<String>,
}

#[test]
fn year_of_history_is_listed_and_found_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut year = Year { home: folder.path().join("home"), book: BTreeMap::new() };
    for number in 0..SESSIONS {
        year.write_conversation(number)?;
    }
    let run = |arguments: &[&str]| -> Result<Value> {
        let mut command = Command::new(program("openagents")?);
        command.args(arguments).current_dir(folder.path());
        command.env("HOME", &year.home).env("OPENAGENTS_HOME", folder.path().join("openagents"));
        for variable in
            ["CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME"]
        {
            command.env_remove(variable);
        }
        let output = command.output()?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let rows = run(&["sessions", "list", "--all", "--limit", "0", "--json"])?;
    year.compare_list(rows.as_array().context("rows")?)?;
    let mut searches = 0;
    for indexed in [false, true] {
        if indexed {
            run(&["sessions", "index", "--wait", "--json"])?;
        }
        for (id, kept) in year.book.iter().step_by(SEARCHED) {
            for (words, expected) in
                [(&kept.said, BTreeSet::from([id.as_str()])), (&kept.undone, BTreeSet::new())]
            {
                for word in words {
                    let found = run(&["sessions", "search", word, "--all", "--json"])?;
                    let hits = found["matches"].as_array().context("matches")?;
                    let ids: BTreeSet<_> = hits.iter().filter_map(|hit| hit["sessionId"].as_str()).collect();
                    ensure!(
                        ids == expected && hits.len() == expected.len(),
                        "{word} of {id}, indexed {indexed}: {hits:?}"
                    );
                    searches += 1;
                }
            }
        }
    }
    ensure!(searches > 100, "{searches} searches");
    let stats = run(&["sessions", "stats", "--json"])?;
    let agents = stats.as_array().context("agents")?;
    ensure!(
        agents.iter().filter_map(|agent| agent["sessions"].as_u64()).sum::<u64>() == year.book.len() as u64,
        "{stats}"
    );
    ensure!(agents.iter().all(|agent| agent["incomplete"] == 0), "{stats}");
    Ok(())
}

struct Year {
    home: PathBuf,
    book: BTreeMap<String, Kept>,
}

/// A prompt and its answer, at a time in milliseconds since the epoch.
#[derive(Clone)]
struct Turn {
    word: String,
    prompt: String,
    answer: String,
    at: i64,
}

impl Turn {
    fn time(&self) -> String {
        jiff::Timestamp::from_millisecond(self.at).map(|at| at.to_string()).unwrap_or_default()
    }
}

impl Year {
    fn compare_list(&self, rows: &[Value]) -> Result<()> {
        let mut listed: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
        listed.sort_unstable();
        ensure!(
            listed == self.book.keys().collect::<Vec<_>>(),
            "{} rows for {} sessions",
            listed.len(),
            self.book.len()
        );
        for row in rows {
            let id = row["id"].as_str().context("an id")?;
            let kept = &self.book[id];
            let own = kept.said.len() as u64;
            let prompts = row["user_turns"].as_u64();
            ensure!(
                prompts == Some(own) || prompts == Some(own + kept.inherited),
                "{id} has {own} prompts: {row}"
            );
            ensure!(row["archived"].as_bool() == Some(kept.archived), "{id} is archived, or not: {row}");
            ensure!(
                row["continues"].as_str() == kept.continues.as_deref(),
                "{id} continues {:?}: {row}",
                kept.continues
            );
        }
        Ok(())
    }

    fn write_conversation(&mut self, number: usize) -> Result<()> {
        let begin = NEWEST - number as i64 * STEP;
        let turn = |at: usize| {
            let word = format!("topic{number}x{at}");
            Turn {
                prompt: format!("Please look after {word}"),
                answer: "It is looked after now.".to_owned(),
                at: begin + at as i64 * 60_000,
                word,
            }
        };
        let [a, b, c, d] = [turn(0), turn(1), turn(2), turn(3)];
        let id = |of: usize| format!("01990000-0000-7000-8000-{of:04x}{number:08x}");
        let keep = |said: &[&Turn]| Kept {
            said: said.iter().map(|turn| turn.word.clone()).collect(),
            ..Kept::default()
        };
        let without =
            |said: &[&Turn], undone: &Turn| Kept { undone: vec![undone.word.clone()], ..keep(said) };
        let fork = |said: &[&Turn], of: &str, inherited| Kept {
            inherited,
            continues: Some(of.to_owned()),
            ..keep(said)
        };
        let archived = |said: &[&Turn]| Kept { archived: true, ..keep(said) };
        let (first, second) = (id(1), id(2));
        match number % 20 {
            0 => self.codex("sessions", &first, &[&a, &b, &c], keep(&[&a, &b, &c]))?,
            1 => self.codex_in_segments(&first, [&a, &b, &c], without(&[&a, &c], &b))?,
            2 => {
                self.codex("sessions", &first, &[&a, &b], keep(&[&a, &b]))?;
                self.codex_fork(&second, &first, &c, fork(&[&c], &first, 2))?;
            }
            3 => self.codex_rolled_back(&first, [&a, &b, &c], without(&[&a, &c], &b))?,
            4 => self.codex("archived_sessions", &first, &[&a, &b], archived(&[&a, &b]))?,
            5 => {
                self.codex("sessions", &first, &[&a, &b], keep(&[&a, &b]))?;
                let log = self.codex_log("sessions", &first, a.at);
                fs::write(log.with_extension("jsonl.zst"), zstd::bulk::compress(&fs::read(&log)?, 3)?)?;
            }
            6 => self.claude(
                &first,
                &[(&a, None), (&b, Some(&a)), (&c, Some(&b))],
                &json!({}),
                keep(&[&a, &b, &c]),
            )?,
            7 => self.claude(
                &first,
                &[(&a, None), (&b, Some(&a)), (&c, Some(&a))],
                &json!({}),
                without(&[&a, &c], &b),
            )?,
            // Copied lines name their session in one of two fields.
            8 | 9 => {
                self.claude(&first, &[(&a, None), (&b, Some(&a))], &json!({}), keep(&[&a, &b]))?;
                let copied = match number % 20 {
                    8 => json!({"forkedFrom": {"sessionId": first}}),
                    _ => json!({"requestSessionId": first}),
                };
                let turns = [(&a, None), (&b, Some(&a)), (&c, Some(&b))];
                self.claude(&second, &turns, &copied, fork(&[&c], &first, 2))?;
            }
            10 => {
                self.claude(&first, &[(&a, None), (&b, Some(&a))], &json!({}), keep(&[&a, &b]))?;
                self.claude(
                    &second,
                    &[(&a, None), (&b, Some(&a)), (&d, Some(&b))],
                    &json!({}),
                    fork(&[&d], &first, 2),
                )?;
            }
            11 => self.gemini(&first, "a", &[&a, &b], &[], keep(&[&a, &b]))?,
            12 => self.gemini(&first, "a", &[&a, &b], &[&c], without(&[&a, &c], &b))?,
            13 => {
                self.gemini(&first, "a", &[&a, &b], &[], Kept::default())?;
                self.gemini(&first, "b", &[&a, &b, &c], &[], keep(&[&a, &b, &c]))?;
            }
            14 => self.qwen(
                "",
                &first,
                &[(&a, None), (&b, Some(&a)), (&c, Some(&a))],
                None,
                without(&[&a, &c], &b),
            )?,
            15 => {
                self.qwen("", &first, &[(&a, None), (&b, Some(&a))], None, keep(&[&a, &b]))?;
                let turns = [(&a, None), (&b, Some(&a)), (&c, Some(&b))];
                self.qwen("", &second, &turns, Some(&first), fork(&[&c], &first, 2))?;
            }
            16 => self.qwen("archive/", &first, &[(&a, None), (&b, Some(&a))], None, archived(&[&a, &b]))?,
            17 => {
                self.copilot(&first, &[&a, &b], keep(&[&a, &b]))?;
                self.copilot(&second, &[&a, &b, &c], fork(&[&c], &first, 2))?;
            }
            18 => self.opencode(number, [&a, &b], true, without(&[&a], &b))?,
            _ => self.opencode(number, [&a, &b], false, archived(&[&a, &b]))?,
        }
        Ok(())
    }

    fn log(&self, path: &str, lines: &[Value]) -> Result<u64> {
        let path = self.home.join(path);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(&path, &text).with_context(|| path.display().to_string())?;
        Ok(text.len() as u64)
    }

    fn codex_log(&self, folder: &str, name: &str, at: i64) -> PathBuf {
        let time = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
        let time = time.strftime("%Y-%m-%dT%H-%M-%S").to_string();
        let day =
            if folder == "sessions" { format!("/{}", time[..10].replace('-', "/")) } else { String::new() };
        self.home.join(format!(".codex/{folder}{day}/rollout-{time}-{name}.jsonl"))
    }

    fn codex_segment(&self, folder: &str, name: &str, at: i64, records: &[Value]) -> Result<u64> {
        let path = self.codex_log(folder, name, at);
        self.log(path.strip_prefix(&self.home)?.to_str().context("UTF-8")?, records)
    }

    fn codex(&mut self, folder: &str, id: &str, turns: &[&Turn], kept: Kept) -> Result<()> {
        let mut records = vec![codex_head(id, turns[0].at, json!({}))];
        records.extend(turns.iter().flat_map(|turn| codex_turn(turn)));
        self.codex_segment(folder, id, turns[0].at, &records)?;
        self.book.insert(id.to_owned(), kept);
        Ok(())
    }

    /// The second turn is reverted: the next file continues after the first turn.
    fn codex_in_segments(&mut self, id: &str, [a, b, c]: [&Turn; 3], kept: Kept) -> Result<()> {
        let mut records = vec![codex_head(id, a.at, json!({}))];
        records.extend(codex_turn(a));
        let bytes = records.iter().map(|record| record.to_string().len() as u64 + 1).sum::<u64>();
        records.extend(codex_turn(b));
        self.codex_segment("sessions", id, a.at, &records)?;
        let base = json!({"thread_id": id, "end_ordinal_exclusive": 4, "end_byte_offset": bytes});
        let mut next = vec![codex_head(id, c.at - 1_000, json!({"history_base": base}))];
        next.extend(codex_turn(c));
        let segment = id.replacen("01990000", "01990001", 1);
        self.codex_segment("sessions", &format!("{id}_{segment}"), c.at - 1_000, &next)?;
        self.book.insert(id.to_owned(), kept);
        Ok(())
    }

    fn codex_fork(&mut self, id: &str, of: &str, turn: &Turn, kept: Kept) -> Result<()> {
        let base = json!({"thread_id": of, "end_ordinal_exclusive": 7, "end_byte_offset": 0});
        let mut records =
            vec![codex_head(id, turn.at - 1_000, json!({"forked_from_id": of, "history_base": base}))];
        records.extend(codex_turn(turn));
        self.codex_segment("sessions", id, turn.at - 1_000, &records)?;
        self.book.insert(id.to_owned(), kept);
        Ok(())
    }

    fn codex_rolled_back(&mut self, id: &str, [a, b, c]: [&Turn; 3], kept: Kept) -> Result<()> {
        let mut records = vec![codex_head(id, a.at, json!({}))];
        records.extend([a, b].into_iter().flat_map(codex_turn));
        records.push(codex_record(b, "event_msg", json!({"type": "thread_rolled_back", "num_turns": 1})));
        records.extend(codex_turn(c));
        self.codex_segment("sessions", id, a.at, &records)?;
        self.book.insert(id.to_owned(), kept);
        Ok(())
    }

    /// Each turn follows another one or begins the conversation. `copied` is added to the
    /// lines of all turns except the last.
    fn claude(
        &mut self,
        id: &str,
        turns: &[(&Turn, Option<&Turn>)],
        copied: &Value,
        kept: Kept,
    ) -> Result<()> {
        let mut lines = Vec::new();
        for (at, (turn, after)) in turns.iter().enumerate() {
            let line = |kind: &str, uuid: String, parent: Option<String>, message: Value| {
                let mut line = json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": id, "cwd": "/w/year",
                    "gitBranch": "main", "version": "2.1.330", "isSidechain": false, "timestamp": turn.time(), "message": message});
                // Only answers have the id of the session that sent the prompt.
                let is_marked = kind == "assistant" || copied.get("requestSessionId").is_none();
                if at + 1 < turns.len() && is_marked {
                    line.as_object_mut()
                        .into_iter()
                        .for_each(|line| line.extend(copied.as_object().cloned().unwrap_or_default()));
                }
                line
            };
            let (asked, answered) = (format!("{}-q", turn.word), format!("{}-a", turn.word));
            let parent = after.map(|after| format!("{}-a", after.word));
            lines.push(line("user", asked.clone(), parent, json!({"role": "user", "content": turn.prompt})));
            let text = json!([{"type": "text", "text": turn.answer}]);
            let message = json!({"id": answered, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": text});
            lines.push(line("assistant", answered, Some(asked), message));
        }
        self.log(&format!(".claude/projects/-w-year/{id}.jsonl"), &lines)?;
        self.book.insert(id.to_owned(), kept);
        Ok(())
    }

    /// `after` follows once the last of `turns` has been undone.
    fn gemini(&mut self, id: &str, file: &str, turns: &[&Turn], after: &[&Turn], kept: Kept) -> Result<()> {
        let message = |turn: &Turn, kind: &str, text: &str| json!({"id": format!("{}-{kind}", turn.word), "timestamp": turn.time(), "type": kind, "content": text});
        let both =
            |turn: &&Turn| [message(turn, "user", &turn.prompt), message(turn, "gemini", &turn.answer)];
        let first = turns[0].time();
        let mut lines = vec![
            json!({"sessionId": id, "projectHash": "9a1b", "startTime": first, "lastUpdated": first, "kind": "main"}),
        ];
        lines.extend(turns.iter().flat_map(both));
        if let (Some(last), false) = (turns.last(), after.is_empty()) {
            lines.push(json!({"$rewindTo": format!("{}-user", last.word)}));
            lines.extend(after.iter().flat_map(both));
        }
        let day = first[..10].to_owned();
        self.log(&format!(".gemini/tmp/year/chats/session-{day}T10-00-{}{file}.jsonl", &id[28..]), &lines)?;
        self.book.insert(id.to_owned(), kept);
        Ok(())
    }

    fn qwen(
        &mut self,
        folder: &str,
        id: &str,
        turns: &[(&Turn, Option<&Turn>)],
        fork_of: Option<&str>,
        kept: Kept,
    ) -> Result<()> {
        let mut lines = Vec::new();
        for (at, (turn, after)) in turns.iter().enumerate() {
            let line = |kind: &str, uuid: String, parent: Option<String>, role: &str, text: &str| {
                let mut line = json!({"uuid": uuid, "parentUuid": parent, "sessionId": id, "timestamp": turn.time(), "type": kind,
                    "cwd": "/w/year", "version": "0.24.4", "gitBranch": "main", "message": {"role": role, "parts": [{"text": text}]}});
                if let (Some(original), true) = (fork_of, at + 1 < turns.len()) {
                    line["forkedFrom"] = json!({"sessionId": original});
                }
                line
            };
            let (asked, answered) = (format!("{}-q", turn.word), format!("{}-a", turn.word));
            let parent = after.map(|after| format!("{}-a", after.word));
            lines.push(line("user", asked.clone(), parent, "user", &turn.prompt));
            lines.push(line("assistant", answered, Some(asked), "model", &turn.answer));
        }
        self.log(&format!(".qwen/projects/-w-year/chats/{folder}{id}.jsonl"), &lines)?;
        self.book.insert(id.to_owned(), kept);
        Ok(())
    }

    fn copilot(&mut self, id: &str, turns: &[&Turn], kept: Kept) -> Result<()> {
        let event = |turn: &Turn, kind: &str, data: Value| json!({"type": kind, "data": data, "id": format!("{}-{kind}", turn.word), "timestamp": turn.time(), "parentId": null});
        let context = json!({"cwd": "/w/year", "branch": "main"});
        let start = json!({"sessionId": id, "version": 1, "copilotVersion": "1.0.102", "startTime": turns[0].time(), "context": context});
        let mut lines = vec![event(turns[0], "session.start", start)];
        for turn in turns {
            lines.push(event(turn, "user.message", json!({"content": turn.prompt})));
            lines.push(event(
                turn,
                "assistant.message",
                json!({"messageId": turn.word, "content": turn.answer}),
            ));
        }
        self.log(&format!(".copilot/session-state/{id}/events.jsonl"), &lines)?;
        self.book.insert(id.to_owned(), kept);
        Ok(())
    }

    /// Either the second turn is reverted or the session is archived.
    fn opencode(&mut self, number: usize, [a, b]: [&Turn; 2], reverts: bool, kept: Kept) -> Result<()> {
        let (id, root) = (format!("ses_{number:08x}"), ".local/share/opencode/storage");
        let message = |at: usize| format!("msg_{number:08x}{at}");
        let mut session = json!({"id": id, "title": "A year", "directory": "/w/year", "version": "1.0.10",
            "time": {"created": a.at, "updated": b.at}});
        if reverts {
            session["revert"] = json!({"messageID": message(2)});
        } else {
            session["time"]["archived"] = b.at.into();
        }
        self.log(&format!("{root}/session/year/{id}.json"), &[session])?;
        for (at, (role, turn, text)) in [
            ("user", a, &a.prompt),
            ("assistant", a, &a.answer),
            ("user", b, &b.prompt),
            ("assistant", b, &b.answer),
        ]
        .into_iter()
        .enumerate()
        {
            let (message, part) = (message(at), format!("prt_{number:08x}{at}"));
            let about = json!({"id": message, "sessionID": id, "role": role, "time": {"created": turn.at}});
            self.log(&format!("{root}/message/{id}/{message}.json"), &[about])?;
            let text =
                json!({"id": part, "messageID": message, "sessionID": id, "type": "text", "text": text});
            self.log(&format!("{root}/part/{message}/{part}.json"), &[text])?;
        }
        self.book.insert(id, kept);
        Ok(())
    }
}

fn codex_record(turn: &Turn, kind: &str, payload: Value) -> Value {
    json!({"timestamp": turn.time(), "type": kind, "payload": payload})
}

fn codex_head(id: &str, at: i64, more: Value) -> Value {
    let time = jiff::Timestamp::from_millisecond(at).unwrap_or_default().to_string();
    let mut payload =
        json!({"id": id, "timestamp": time, "cwd": "/w/year", "cli_version": "0.169.0", "source": "cli"});
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    json!({"timestamp": time, "type": "session_meta", "payload": payload})
}

fn codex_turn(turn: &Turn) -> Vec<Value> {
    vec![
        codex_record(turn, "event_msg", json!({"type": "user_message", "message": turn.prompt})),
        codex_record(turn, "event_msg", json!({"type": "agent_message", "message": turn.answer})),
        codex_record(turn, "event_msg", json!({"type": "task_complete", "turn_id": turn.word})),
    ]
}
