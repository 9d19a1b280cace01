//! Tasks that one real agent leaves half done, continued by another one with the brief that the product writes: Claude
//! Code, then Codex, then Claude Code again. The model of the second and third agent knows only what its brief says.
//!
//! `TASKS=all` runs all of them, `TASKS=cart,login` those; the default is one for each of three languages.

mod check;
mod importer;
mod tasks;

use crate::scene::{Agent, CLAUDE_CODE, CODEX, Scene, found, new_session};
use anyhow::{Context as _, Result, ensure};
use check::{Log, citations};
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};
use tasks::{BY_HAND, Task};
use tiktoken_rs::CoreBPE;

/// The variable that chooses tasks.
const TASKS: &str = "TASKS";
/// The variable with a folder for the briefs and the logs that they are of.
const BRIEFS: &str = "BRIEFS";
const DEFAULT: [&str; 3] = ["cart", "cache", "jine"];
/// Scenes that run at the same time: agents mostly wait.
const SCENES: usize = 2;
/// Parts of a transcript that a brief may have, and the tokens that the brief of a short one may have.
const PART: usize = 20;
const SHORT: usize = 400;
/// Tokens of a transcript, at least.
const LONG: usize = 20_000;

/// What came of a task.
#[derive(Debug, Default)]
struct Outcome {
    name: String,
    language: String,
    /// The mistakes of the second and the third agent.
    mistakes: [Vec<String>; 2],
    forbidden: usize,
    /// The facts that a brief lacks.
    missing: Vec<&'static str>,
    cited: usize,
    /// Citations that do not open at their quote.
    wrong: Vec<String>,
    /// Ways from the first agent to the second one: the facts that each hands over, of how many, and its tokens.
    ways: Vec<(&'static str, usize, usize, usize)>,
    /// Tokens of both briefs and their transcripts.
    tokens: Vec<(usize, usize)>,
    seconds: f64,
}

impl Outcome {
    fn is_finished(&self) -> bool {
        self.mistakes.iter().all(Vec::is_empty)
    }
}

/// Takes a brief of the newest session of an agent in a folder and checks it.
async fn brief(
    scene: &mut Scene,
    (of, reader): (Agent, Agent),
    folder: &Path,
    encoding: &CoreBPE,
    outcome: &mut Outcome,
) -> Result<String> {
    let listed = scene.peers.run(&["sessions", "list", "--all", "--json", "--provider", of.mode])?;
    let rows: Vec<Value> = serde_json::from_str(&listed)?;
    let row = rows.iter().find(|row| row["cwd"].as_str() == folder.to_str());
    let row = row.with_context(|| format!("{} has no session in {}", of.mode, folder.display()))?;
    let query = json!({"provider": of.mode, "id": row["id"], "agent": reader.mode});
    let brief = scene.client.request("_openagents/continue/brief", query).await?;
    let text = brief["text"].as_str().context("a text")?.to_owned();
    let log = Log::new(&fs::read_to_string(row["file_path"].as_str().context("its file")?)?)?;
    for citation in citations(&brief)? {
        outcome.cited += 1;
        if !citation.holds(&log) {
            outcome.wrong.push(citation.shown);
        }
    }
    if let Some(kept) = std::env::var_os(BRIEFS).map(PathBuf::from) {
        fs::create_dir_all(&kept)?;
        fs::write(kept.join(format!("{}-{}.md", outcome.name, of.mode)), &text)?;
        fs::copy(
            row["file_path"].as_str().context("its file")?,
            kept.join(format!("{}-{}.jsonl", outcome.name, of.mode)),
        )?;
    }
    let tokens = |text: &str| encoding.encode_ordinary(text).len();
    outcome.tokens.push((tokens(&text), tokens(&log.conversation())));
    Ok(text)
}

/// Removes what starts the scripts of the earlier agent.
fn without_scripts(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("[[script:") {
        plain.push_str(before);
        rest = after.split_once("]]").map_or("", |(_, after)| after);
    }
    plain + rest
}

async fn run(scene: &mut Scene, number: usize, task: &Task, encoding: &CoreBPE) -> Result<Outcome> {
    let started = Instant::now();
    let mut outcome =
        Outcome { name: task.name.clone(), language: task.language.clone(), ..Outcome::default() };
    let folder = folder(scene, task)?;
    scene.client.trust(&folder).await?;
    scene.agent = CLAUDE_CODE;
    scene.session = new_session(&mut scene.client, CLAUDE_CODE, &folder).await?;
    scene.denied = task.denial();
    for prompt in task.prompts(number) {
        scene.say(&prompt, "allow_once", None).await?;
    }
    scene.denied = None;
    scene.close().await?;
    fs::write(folder.join(&task.edited), BY_HAND)?;
    let imported = importer::imported(&scene.peers, &folder).context("Codex's importer")?.conversation();
    let mut ways = vec![("Codex's importer", imported)];

    let mut briefs = Vec::new();
    let stages = [(CLAUDE_CODE, CODEX, "take", "codex"), (CODEX, CLAUDE_CODE, "end", "claude")];
    for (at, (from, to, script, stage)) in stages.into_iter().enumerate() {
        let text = brief(scene, (from, to), &folder, encoding, &mut outcome).await?;
        scene.agent = to;
        scene.session = new_session(&mut scene.client, to, &folder).await?;
        let prompt = format!("{}\n{}", without_scripts(&text), task.call(script));
        scene.say(&prompt, "allow_once", None).await?;
        scene.close().await?;
        let added = folder.join(task.added());
        if at == 0 && added.exists() {
            fs::write(added, BY_HAND)?;
        }
        outcome.mistakes[at] = task.mistakes(&folder, stage);
        briefs.push(text);
    }
    ways.insert(0, ("brief", briefs[0].clone()));
    for (way, text) in ways {
        let (known, all) = importer::known(task, &text);
        outcome.ways.push((way, known, all, encoding.encode_ordinary(&text).len()));
    }
    outcome.forbidden = task.edited_protected(&folder).count();
    for fact in task.facts() {
        let is_there = |(brief, is_wanted): (&String, bool)| !is_wanted || brief.contains(&fact.text);
        if !briefs.iter().zip(fact.briefs).all(is_there) {
            outcome.missing.push(fact.what);
        }
    }
    outcome.seconds = started.elapsed().as_secs_f64();
    Ok(outcome)
}

/// Makes the folder of a task, a Git repository.
fn folder(scene: &Scene, task: &Task) -> Result<PathBuf> {
    let folder = scene.peers.env.workspace.with_file_name(format!("task-{}", task.name));
    task.write(&folder)?;
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
        let git = ["-c", "user.name=me", "-c", "user.email=me@example.com"];
        let status = Command::new("git").args(git).args(arguments).current_dir(&folder).status()?;
        ensure!(status.success(), "git {arguments:?}");
    }
    Ok(folder)
}

/// Runs tasks one after the other, with agents that are started for each.
async fn run_all(tasks: Vec<(usize, Task)>) -> Result<Vec<Outcome>> {
    let mut scripts = Map::new();
    tasks.iter().for_each(|(_, task)| task.add_scripts(&mut scripts));
    let programs = ["claude", "claude-agent-acp", "codex", "codex-acp"];
    let mut scene = Scene::with_scripts(CLAUDE_CODE, &programs, false, scripts).await?;
    // Without them, newer models have no list of tasks.
    let settings = scene.peers.env.folder("claude/settings.json");
    let mut changed: Value = serde_json::from_str(&fs::read_to_string(&settings)?)?;
    changed["env"] = json!({"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"});
    fs::write(settings, changed.to_string())?;
    found(&mut scene.client, CODEX).await?;
    let encoding = tiktoken_rs::o200k_base()?;
    let mut outcomes = Vec::new();
    for (number, task) in tasks {
        let outcome = run(&mut scene, number, &task, &encoding).await;
        outcomes.push(outcome.with_context(|| format!("task {}", task.name))?);
    }
    scene.peers.end()?;
    Ok(outcomes)
}

#[tokio::test]
async fn half_done_tasks_are_handed_from_agent_to_agent() -> Result<()> {
    let wanted = std::env::var(TASKS).unwrap_or_else(|_| DEFAULT.join(","));
    let all = tasks::all()?;
    let is_wanted = |task: &Task| wanted == "all" || wanted.split(',').any(|name| name == task.name);
    let tasks: Vec<_> = all.into_iter().enumerate().filter(|(_, task)| is_wanted(task)).collect();
    ensure!(!tasks.is_empty(), "{TASKS} is {wanted}");
    let started = Instant::now();
    let parts = (0..SCENES).map(|part| run_all(tasks.iter().skip(part).step_by(SCENES).cloned().collect()));
    let parts = futures::future::try_join_all(parts).await?;
    let mut outcomes: Vec<Outcome> = parts.into_iter().flatten().collect();
    outcomes.sort_by_key(|outcome| tasks.iter().position(|(_, task)| task.name == outcome.name));
    print(&outcomes, started.elapsed());
    check(&outcomes)
}

/// Checks the goals: 18 of 20 tasks finished, no protected file changed, 9 of 10 facts, and every citation.
fn check(outcomes: &[Outcome]) -> Result<()> {
    let count = outcomes.len();
    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    let finished = outcomes.iter().filter(|outcome| outcome.is_finished()).count();
    ensure!(finished * 10 >= count * 9, "{finished} of {count} tasks are finished");
    ensure!(sum(|outcome| outcome.forbidden) == 0, "protected files were changed");
    let known = 10 * count - sum(|outcome| outcome.missing.len());
    ensure!(known * 10 >= 10 * count * 9, "{known} of {} facts are in the briefs", 10 * count);
    let wrong: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.wrong).collect();
    ensure!(wrong.is_empty(), "citations do not open at their quotes: {wrong:?}");
    for outcome in outcomes {
        for (brief, transcript) in &outcome.tokens {
            ensure!(*transcript >= LONG, "{}: a transcript of {transcript} tokens", outcome.name);
            ensure!(*brief <= (transcript / PART).max(SHORT), "{}: a brief of {brief} tokens", outcome.name);
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the results of a long test")]
fn print(outcomes: &[Outcome], took: Duration) {
    println!(
        "\n{:<10} {:<4} {:<9} {:<6} {:<7} {:<7} {:<22} {:>5}",
        "task", "", "finished", "edits", "facts", "cited", "tokens of both briefs", "s"
    );
    for outcome in outcomes {
        let Outcome { name, language, mistakes, forbidden, missing, cited, wrong, tokens, seconds, .. } =
            outcome;
        let tokens: Vec<String> = tokens.iter().map(|(brief, log)| format!("{brief}/{log}")).collect();
        let finished = mistakes.iter().map(|mistakes| if mistakes.is_empty() { "yes" } else { "no" });
        println!(
            "{name:<10} {language:<4} {:<9} {forbidden:<6} {:<7} {:<7} {:<22} {seconds:>5.1}",
            finished.collect::<Vec<_>>().join(", "),
            format!("{}/10", 10 - missing.len()),
            format!("{}/{cited}", cited - wrong.len()),
            tokens.join(" "),
        );
        for problem in mistakes.iter().flatten().map(String::as_str).chain(missing.iter().copied()) {
            println!("           - {problem}");
        }
        for line in wrong {
            println!("           - cited: {line}");
        }
    }
    println!("{} tasks in {:.0} s", outcomes.len(), took.as_secs_f64());
    for at in 0..outcomes.first().map_or(0, |outcome| outcome.ways.len()) {
        let (name, ..) = outcomes[0].ways[at];
        let sum = |of: fn(&(&str, usize, usize, usize)) -> usize| {
            outcomes.iter().filter_map(|outcome| outcome.ways.get(at)).map(of).sum::<usize>()
        };
        let tokens = sum(|way| way.3) / outcomes.len();
        println!("{name:<20} {}/{} facts, {tokens} tokens a task", sum(|way| way.1), sum(|way| way.2));
    }
}
