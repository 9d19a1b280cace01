//! The desktop window: the real program, its real page and its bridge, end to end.

use crate::desktop::{self, Desktop};
use fantoccini::Locator;
use openagents_e2e::{
    server::Client,
    terminal::{deaf_agent, runs},
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

/// Returns a small project to explore.
fn project() -> anyhow::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("tide-tables-").tempdir()?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    fs::create_dir(folder.path().join("src"))?;
    write("README.md", "# Tide tables\n\nPredicts the tide at a harbour from its constituents.\n")?;
    write("Cargo.toml", "[package]\nname = \"tide-tables\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")?;
    write(
        "src/lib.rs",
        "//! Tides.\n\n/// Height above chart datum, in metres.\npub fn height() -> f64 {\n    1.2\n}\n",
    )?;
    Ok(folder)
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns a script that checks whether the element `selector` shows `text`.
fn shows(selector: &str, text: &str) -> String {
    format!("return document.querySelector('{selector}')?.innerText.includes('{text}') ?? false")
}

/// Adds `custom:fake`, a scripted agent, which may start in the folder.
fn add_fake_agent(program: &Path, home: &Path, folder: &Path) -> anyhow::Result<()> {
    let openagents = |arguments: &[&std::ffi::OsStr]| {
        std::process::Command::new(program.with_file_name("openagents"))
            .args(arguments)
            .env("HOME", home)
            .env("OPENAGENTS_HOME", home.join(desktop::DATA))
            .output()
    };
    let agent = program.with_file_name("fake-agent");
    let added =
        openagents(&["agents".as_ref(), "add".as_ref(), "fake".as_ref(), "--".as_ref(), agent.as_ref()])?;
    assert!(added.status.success(), "{added:?}");
    let trusted = openagents(&["workspaces".as_ref(), "trust".as_ref(), folder.as_ref(), "--yes".as_ref()])?;
    assert!(trusted.status.success(), "{trusted:?}");
    Ok(())
}

/// Maximum time from the signal to the end of the app, whatever is running.
const QUIT: std::time::Duration = std::time::Duration::from_secs(5);

/// Time limit of every wait.
const HANGS: std::time::Duration = std::time::Duration::from_secs(20);

const LIVE: &str = "return document.querySelector('[data-link=live]')";
const COMPLETE: &str = "return document.querySelector('[data-plan=complete]')";

#[tokio::test]
async fn window_explores_and_opens_a_row() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let desktop = Desktop::start(&desktop::build()?, home.path(), None).await?;
    assert_eq!(desktop.page.title().await?, "OpenAgents");
    desktop.until("a live link", LIVE).await?;
    desktop.shoot("start").await?;

    let field = desktop.page.find(Locator::Css("#workspace")).await?;
    field.clear().await?;
    field.send_keys(&project.path().to_string_lossy()).await?;
    desktop.page.find(Locator::Css("form button[type=submit]")).await?.click().await?;
    desktop.until("the end of the plan", COMPLETE).await?;
    desktop.until("the heading of the plan", &shows("[data-plan]", "Plan Complete")).await?;
    let sentence = "Predicts the tide at a harbour";
    desktop.until("the summary", &shows("main", sentence)).await?;
    desktop.shoot("explored").await?;

    desktop.page.find(Locator::Css("[data-tool]")).await?.click().await?;
    desktop
        .until("the notification behind the row", &shows("[aria-label=Inspector]", "sessionUpdate"))
        .await?;
    desktop.shoot("inspector").await?;
    desktop.close(home.path()).await
}

#[tokio::test]
async fn window_explores_folder_argument() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let desktop = Desktop::start(&desktop::build()?, home.path(), Some(project.path())).await?;
    desktop.until("the end of the plan", COMPLETE).await?;
    desktop.close(home.path()).await
}

#[tokio::test]
async fn second_window_joins_the_first_bridge() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let program = desktop::build()?;
    let first = Desktop::start(&program, home.path(), None).await?;
    first.until("a live link", LIVE).await?;
    let second = Desktop::start(&program, home.path(), Some(project.path())).await?;
    second.until("the end of the plan", COMPLETE).await?;
    let title = folder_name(project.path());
    first
        .until(
            "the session in the other window",
            &format!("return document.body.innerText.includes('{title}')"),
        )
        .await?;
    drop(second);
    first.close(home.path()).await
}

#[tokio::test]
async fn window_replaces_a_lost_bridge() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let program = desktop::build()?;
    let first = Desktop::start(&program, home.path(), None).await?;
    first.until("a live link", LIVE).await?;
    let (port, pid) = desktop::bridge(home.path())?;
    let second = Desktop::start(&program, home.path(), None).await?;
    second.until("a live link", LIVE).await?;
    let ended = std::process::Command::new("kill").arg(pid.to_string()).status()?;
    assert!(ended.success());
    let own = format!("{LIVE} && !document.querySelector('[data-port=\"{port}\"]')");
    second.until("a live link to another bridge", &own).await?;
    drop(first);
    second.close(home.path()).await
}

/// The model answers in the window as it does for every other client: the helper is next to the program.
#[tokio::test]
async fn window_shows_local_model_answer() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let program = desktop::build()?;
    let model = home.path().join("scripted.gguf");
    openagents_e2e::gptoss::write_model(&model, &openagents_e2e::gptoss::Script::explorer())?;
    let added = std::process::Command::new(program.with_file_name("openagents"))
        .args(["models", "add"])
        .arg(&model)
        .env("HOME", home.path())
        .env("OPENAGENTS_HOME", home.path().join(desktop::DATA))
        .output()?;
    assert!(added.status.success(), "{added:?}");

    let desktop = Desktop::start(&program, home.path(), Some(project.path())).await?;
    desktop.until("the end of the plan", COMPLETE).await?;
    let page = &desktop.page;
    page.execute("document.querySelector('button[data-mode]').click()", Vec::new()).await?;
    let choose = "const found = document.querySelector('[data-choice=gptoss_20b]'); found?.click(); return found !== null";
    desktop.until("the local model in the agent picker", choose).await?;
    let prompt = page.find(Locator::Css("textarea[aria-label=Prompt]")).await?;
    prompt.send_keys("What is in this folder?").await?;
    page.find(Locator::Css("button[aria-label=Send]")).await?.click().await?;
    desktop.until("the answer", &shows("main", "This folder holds a small project.")).await?;
    desktop.until("its figures", &shows("main", "tokens/s")).await?;
    let secret =
        desktop.page.execute("return document.body.innerText.includes('secret')", Vec::new()).await?;
    assert_eq!(secret, serde_json::json!(false));
    desktop.shoot("answered").await?;
    desktop.close(home.path()).await
}

/// Quitting waits for no agent and leaves none behind.
#[tokio::test]
async fn quit_ends_unresponsive_agent() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let desktop = Desktop::start(&desktop::build()?, home.path(), None).await?;
    desktop.until("a live link", LIVE).await?;
    let (_, pid) = desktop::bridge(home.path())?;
    let mut phone = Client::beside(&home.path().join(desktop::DATA), "Phone").await?;
    let root = project.path().canonicalize()?;
    let agent = deaf_agent(&root.join("id"))?;
    phone.request("_openagents/agents/add", json!({"agent": agent})).await?;
    phone.begin_turn("custom:deaf", &root, "[[say begun]] [[hang-after-cancel]]", "begun").await?;
    let agent = fs::read_to_string(root.join("id"))?;
    assert!(runs(&agent)?);
    let quit = std::process::Command::new("kill").arg(pid.to_string()).status()?;
    assert!(quit.success());
    // The signal is delivered. Each check starts `ps`, which may be slow here, so the start of a check counts.
    let since = std::time::Instant::now();
    loop {
        let waited = since.elapsed();
        if !runs(&pid.to_string())? {
            break;
        }
        anyhow::ensure!(waited <= QUIT, "the app still runs after {waited:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(!runs(&agent)?);
    Ok(())
}

/// A delegate is followed live in the window and in a second client, which approves; Stop in the window ends it.
#[tokio::test]
async fn window_stops_remotely_approved_delegate() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let program = desktop::build()?;
    add_fake_agent(&program, home.path(), project.path())?;
    let desktop = Desktop::start(&program, home.path(), Some(project.path())).await?;
    desktop.until("the end of the plan", COMPLETE).await?;
    let page = &desktop.page;
    let press = |words: &str| {
        format!(
            "const found = [...document.querySelectorAll('button')].find((b) => b.innerText.trim() === '{words}'); \
             found?.click(); return found !== undefined"
        )
    };
    desktop.until("the Delegate… button", &press("Delegate…")).await?;
    let fake = "dialog option[value=\"custom:fake\"]";
    desktop
        .until("the agent", &format!("return document.querySelector('{fake}')?.disabled === false"))
        .await?;
    let write = "const set = (element, kind, value) => { \
            Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(element, value); \
            for (const event of ['input', 'change']) element.dispatchEvent(new Event(event, { bubbles: true })); }; \
        set(document.querySelector('dialog select'), HTMLSelectElement, 'custom:fake'); \
        set(document.querySelector('dialog textarea'), HTMLTextAreaElement, \
            'Write it down. [[edit tide.md]] [[words 100000]]'); \
        return true";
    page.execute(write, Vec::new()).await?;
    desktop.shoot("brief").await?;
    desktop.until("the button of the brief", &press("Delegate")).await?;

    let mut phone = Client::beside(&home.path().join(desktop::DATA), "Phone").await?;
    let listed = phone.request("session/list", json!({})).await?;
    let session = listed["sessions"][0]["sessionId"].clone();
    phone.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await?;
    let asked =
        |frame: &Value| frame["params"]["update"]["_meta"]["openagents"]["approval"]["state"] == "pending";
    let question = phone.until("the question", asked).await?;
    let approval = &question["params"]["update"]["_meta"]["openagents"]["approval"];
    assert_eq!(question["params"]["sessionId"], session);
    assert!(question["params"]["_meta"]["openagents"]["childSessionId"].is_string());
    desktop
        .until("the question in the window", "return document.querySelector('[data-approval-state=pending]')")
        .await?;
    desktop.shoot("delegate-asks").await?;
    let options = approval["options"].as_array().cloned().unwrap_or_default();
    let allow =
        options.iter().find(|option| option["kind"] == "allow_once").map(|option| option["id"].clone());
    let answer = json!({"sessionId": session, "approvalId": approval["id"], "optionId": allow});
    phone.request("_openagents/approvals/answer", answer).await?;

    desktop.until("who answered", &shows("main", "Allowed on Phone")).await?;
    desktop.until("its next file", &shows("[data-delegate]", "tide.md")).await?;
    // The row shows the file before it is written.
    let written = || {
        fs::read_to_string(project.path().join("tide.md"))
            .is_ok_and(|text| text.contains("made by fake-agent"))
    };
    let since = std::time::Instant::now();
    while !written() {
        anyhow::ensure!(since.elapsed() < HANGS, "tide.md was not written");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    desktop.shoot("delegate-works").await?;
    let stop = "[...document.querySelectorAll('[data-delegate] button')].find((b) => b.innerText.trim() === 'Stop').click()";
    page.execute(stop, Vec::new()).await?;
    desktop.until("its end", "return document.querySelector('[data-delegate-state=cancelled]')").await?;
    let ended = |frame: &Value| {
        let params = &frame["params"];
        params["update"]["status"] == "failed" && params["_meta"]["openagents"]["childSessionId"].is_null()
    };
    phone.until("the end of the call on the other client", ended).await?;
    desktop.shoot("delegate-stopped").await?;
    desktop.close(home.path()).await
}

/// No button allows a command before all of it has been on screen; this also holds in the real window's engine.
#[tokio::test]
async fn window_approves_only_fully_shown_command() -> anyhow::Result<()> {
    let (home, project) = (tempfile::tempdir()?, project()?);
    let program = desktop::build()?;
    add_fake_agent(&program, home.path(), project.path())?;
    let desktop = Desktop::start(&program, home.path(), Some(project.path())).await?;
    desktop.until("the end of the plan", COMPLETE).await?;
    let page = &desktop.page;
    page.execute("document.querySelector('button[data-mode]').click()", Vec::new()).await?;
    let choose = "const found = document.querySelector('[data-choice=\"custom:fake\"]'); \
        found?.click(); return found !== null";
    desktop.until("the agent in the agent picker", choose).await?;
    let prompt = format!("[[run touch{}]]", " made.txt".repeat(800));
    let write = "const field = document.querySelector('textarea[aria-label=Prompt]'); \
        Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(field, arguments[0]); \
        field.dispatchEvent(new Event('input', { bubbles: true }))";
    page.execute(write, vec![prompt.into()]).await?;
    page.find(Locator::Css("button[aria-label=Send]")).await?.click().await?;

    let button = |words: &str| {
        format!(
            "[...document.querySelectorAll('[data-approval-state=pending] button')]\
             .find((button) => button.innerText.trim() === '{words}')"
        )
    };
    let (allow, deny) = (button("Run once"), button("Deny"));
    let always = button("Always run exactly this in this session");
    desktop.until("the question, after its pause", &format!("return {deny}?.disabled === false")).await?;
    // Runs `steps` with the command's box, and returns whether a button allows it once the observers have fired.
    let allows_after = async |steps: &str| -> anyhow::Result<bool> {
        let script = format!(
            "const done = arguments[0]; \
             const painted = () => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))); \
             const box = document.querySelector('[data-approval-state=pending] pre[aria-label=Command]'); \
             (async () => {{ box.scrollIntoView({{ block: 'center' }}); {steps} await painted(); await painted(); \
             done([{allow}, {always}].some((button) => button?.disabled === false)); }})()"
        );
        Ok(page.execute_async(&script, Vec::new()).await? == json!(true))
    };
    let scrolls = "return document.querySelector('pre[aria-label=Command]').scrollHeight > 1000";
    desktop.until("a command that does not fit", scrolls).await?;
    assert!(!allows_after("").await?, "only its beginning was seen");
    assert!(!allows_after("box.scrollTo(0, box.scrollHeight);").await?, "the middle was not seen");
    desktop.shoot("command-unseen").await?;
    let walk = "for (let top = 0; top < box.scrollHeight; top += box.clientHeight * 0.6) { \
        box.scrollTo(0, top); await painted(); }";
    assert!(allows_after(walk).await?, "all of it was seen");
    desktop.shoot("command-seen").await?;
    let made = project.path().join("made.txt");
    assert!(!made.exists(), "it runs after the answer");
    page.execute(&format!("{allow}.click()"), Vec::new()).await?;
    desktop.until("the outcome", &shows("main", "Allowed on")).await?;
    desktop.until("the end of the command", &shows("main", "exit 0 signal null")).await?;
    assert!(made.exists());
    desktop.close(home.path()).await
}

#[tokio::test]
async fn window_allows_and_removes_a_phone() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let program = desktop::build()?;
    let desktop = Desktop::start(&program, home.path(), None).await?;
    desktop.until("the link", LIVE).await?;
    let data = home.path().join(desktop::DATA);
    let mut terminal = Client::beside(&data, "Terminal").await?;
    let snapshot = terminal.request("_openagents/devices/pair", json!({})).await?;
    let (port, _) = desktop::bridge(home.path())?;
    let claim = json!({"code": snapshot["pairing"]["code"], "name": "Pocket phone"});
    let (_, claimed) = openagents_e2e::http::post(port, "/pair", &claim)?;
    let compare = claimed["compare"].as_str().unwrap_or("no code");
    desktop.until("the code to compare", &shows("[data-access-request=pair]", compare)).await?;
    desktop.shoot("device-access-request").await?;
    let allow = "const button = document.querySelector('[data-access-request=pair] button[type=submit]'); \
        const ready = button?.disabled === false; if (ready) button.click(); return ready";
    desktop.until("the Allow button", allow).await?;

    let (_, paired) =
        openagents_e2e::http::post(port, "/pair/wait", &json!({"request": claimed["request"]}))?;
    assert_eq!(paired["state"], "allowed");
    assert_eq!(paired["scope"], "prompt");
    let token = paired["token"].as_str().unwrap_or_default();
    let mut phone = Client::with_token(port, token).await?;
    phone.request("session/list", json!({})).await?;

    let press = |words: &str| {
        format!(
            "const found = [...document.querySelectorAll('button')].find((b) => b.innerText.trim() === '{words}'); \
             found?.click(); return found !== undefined"
        )
    };
    let settings = "const found = document.querySelector('button[aria-label=Settings]'); \
        found?.click(); return found !== null";
    desktop.until("the settings", settings).await?;
    desktop.until("the devices", &press("Devices")).await?;
    desktop.until("the phone", &shows("main", "Pocket phone")).await?;
    desktop.shoot("devices").await?;
    desktop.until("the Remove button", &press("Remove")).await?;
    desktop.until("the question", &shows("main", "Remove Pocket phone?")).await?;
    desktop.shoot("device-removed").await?;
    desktop.until("the answer", &press("Remove device")).await?;
    assert!(phone.next().await.is_err(), "the socket of a removed device is cut");
    assert!(Client::with_token(port, token).await.is_err(), "and its token is invalid");
    desktop.close(home.path()).await
}
