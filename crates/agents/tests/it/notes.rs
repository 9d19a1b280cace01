//! Notices, compactions and plans as text.

use super::host::Scene;
use openagents_core::update::{AgentPart, CompactionState, NoteContent, SessionUpdate, Severity};

/// What was shown, in order: texts, and the contents of notes by their number.
fn shown(scene: &Scene) -> (Vec<String>, Vec<NoteContent>) {
    let (mut ids, mut texts, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for update in scene.host.updates.lock().unwrap().iter() {
        match update {
            SessionUpdate::AgentMessage(message) if !message.text.is_empty() => {
                texts.push(message.text.trim().to_owned());
            }
            SessionUpdate::AgentNote(note) => {
                let at = ids.iter().position(|id| *id == note.id).unwrap_or_else(|| {
                    ids.push(note.id.clone());
                    notes.push(note.content.clone());
                    texts.push(format!("note {}", ids.len()));
                    ids.len() - 1
                });
                notes[at] = note.content.clone();
            }
            _ => {}
        }
    }
    (texts, notes)
}

#[test]
fn notes_are_rows_between_the_text() {
    let scene = Scene::new();
    let outcome = scene.prompt(
        r##"[[say One]]
        [[update {"sessionUpdate":"notice","severity":"warning","title":"Slow\nserver","description":"Wait."}]]
        [[say Two]]
        [[update {"sessionUpdate":"notice","severity":"warning","title":"Slow\nserver","description":"Wait."}]]
        [[update {"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}]]
        [[update {"sessionUpdate":"compaction_update","compactionId":"c","status":"completed","summary":[{"type":"text","text":"Done."}] }]]
        [[update {"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}]]
        [[update {"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"# Plan","path":"plan.md"}}]]"##,
    );
    assert_eq!(outcome.text, "Two");
    let (texts, notes) = shown(&scene);
    assert_eq!(texts, ["One", "note 1", "Two", "note 2", "note 3"]);
    let notice = NoteContent::Notice {
        severity: Severity::Warning,
        title: "Slow server".to_owned(),
        description: Some("Wait.".to_owned()),
        count: 2,
    };
    let compaction = NoteContent::Compaction {
        state: CompactionState::Completed,
        summary: Some("Done.".to_owned()),
        error: None,
    };
    let plan =
        NoteContent::Plan { text: "# Plan".to_owned(), path: Some("plan.md".to_owned()), removed: false };
    assert_eq!(notes, [notice, compaction, plan]);
}

#[test]
fn turn_with_only_a_compaction_needs_no_words() {
    let scene = Scene::new();
    scene.prompt(
        r#"[[update {"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}]] [[silence]]"#,
    );
    assert_eq!(shown(&scene).0, ["note 1"]);
    let scene = Scene::new();
    scene.prompt(r#"[[update {"sessionUpdate":"notice","severity":"info","title":"Hm"}]] [[silence]]"#);
    assert_eq!(shown(&scene).0, ["note 1", "Done, no output."]);
}

#[test]
fn compaction_of_an_agent_that_exits_has_failed() {
    let scene = Scene::new();
    scene.prompt(r#"[[update {"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}]] [[crash]]"#);
    let (_, notes) = shown(&scene);
    let [NoteContent::Compaction { state: CompactionState::Failed, error: Some(why), .. }] = &notes[..]
    else {
        panic!("{notes:?}");
    };
    assert_eq!(why, "Fake exited before this finished");
}

#[test]
fn title_of_the_agent_is_reported() {
    let scene = Scene::new();
    scene.prompt(
        r#"[[update {"sessionUpdate":"session_info_update","title":"Fix\nthe parser"}]]
        [[update {"sessionUpdate":"session_info_update","_meta":{"codex":{}}}]]
        [[update {"sessionUpdate":"session_info_update","title":null}]]"#,
    );
    let states = scene.host.states.lock().unwrap();
    let titles: Vec<_> = states.iter().filter(|part| matches!(part, AgentPart::Title(_))).collect();
    assert_eq!(titles, [&AgentPart::Title("Fix the parser".to_owned())]);
}
