//! `openagents serve`: the bridge without a window.

use crate::{
    args::{self, Ios},
    explore::Watch,
    output,
    signals::Interrupts,
    surroundings,
};
use anyhow::Context;
use openagents_bridge::{Bridge, BridgeConfig, IosDoor, NetworkConfig};
use openagents_core::{history::HistoryRoots, workspace::Workspace};
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn run(arguments: &args::Serve) -> anyhow::Result<ExitCode> {
    let ios = match arguments.ios {
        Ios::Off => IosDoor::Off,
        Ios::Allow => IosDoor::Allow,
        Ios::Ask => {
            let reason =
                "--ios ask is not available yet; use --ios allow to let every program on this machine in";
            return Err(output::Usage(reason.to_owned()).into());
        }
    };
    let root = Workspace::open(&arguments.root)
        .with_context(|| format!("cannot serve {}", arguments.root.display()))?
        .root()
        .to_owned();
    let config = BridgeConfig {
        home: surroundings::data_folder()?,
        port: arguments.port,
        root: root.clone(),
        ios: Some(ios),
        network: NetworkConfig::default(),
        history: HistoryRoots::from_env(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(serve(arguments, config));
    runtime.shutdown_background();
    served
}

async fn serve(arguments: &args::Serve, config: BridgeConfig) -> anyhow::Result<ExitCode> {
    let (root, home) = (config.root.clone(), config.home.clone());
    let mut signals = Interrupts::listen()?;
    let bridge = Bridge::start_with(config, surroundings::providers).await.map_err(|error| {
        let hint = error.hint().map(|hint| format!(". {hint}")).unwrap_or_default();
        anyhow::anyhow!("{error}{hint}")
    })?;
    for notice in bridge.notices() {
        output::warn(notice);
    }
    let mut watch = None;
    if arguments.explore {
        match Watch::begin(bridge.address(), &home, root.clone()).await {
            Ok(begun) => watch = Some(begun),
            Err(error) => output::warn(&format!("{error:#}")),
        }
    }
    // The page opens the session that the fragment names.
    let session = watch.as_ref().map(|watch| format!("&session={}", watch.session_id()));
    let url = format!("{}{}", bridge.page_url(), session.unwrap_or_default());
    if arguments.json {
        watch = None;
        output::json_line(&json!({
            "url": url,
            "token_file": bridge.token_file(),
            "port": bridge.address().port(),
        }))?;
    } else {
        output::line(format_args!("Serving  {}", root.display()))?;
        output::line(format_args!("Open     {url}"))?;
        output::line("Stop     Ctrl-C\n")?;
    }
    let watching = async {
        if let Some(watch) = watch
            && let Err(error) = watch.show().await
        {
            output::warn(&format!("{error:#}"));
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = signals.next() => {}
        () = watching => {}
    }
    bridge.shutdown().await;
    Ok(ExitCode::SUCCESS)
}
