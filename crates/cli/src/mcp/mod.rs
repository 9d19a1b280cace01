//! `openagents mcp`: code findings and past sessions of one workspace for other agents, over standard input and output.
//!
//! Read-only. Every client is a hosted agent in the sense of `openagents_tools::reading`, whichever program it is.
//! Standard output carries only the protocol; logs go to standard error.

mod lines;
mod server;
mod tools;

use crate::{
    args, output,
    signals::{self, Interrupts},
    surroundings,
};
use anyhow::Context;
use openagents_core::workspace::Workspace;
use rmcp::{ServiceExt, service::ServerInitializeError};
use server::Server;
use std::{process::ExitCode, sync::Arc};

pub(crate) fn run(arguments: &args::Mcp) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::open(&arguments.path).with_context(|| arguments.path.display().to_string())?;
    let wanted = arguments.history;
    if wanted && !surroundings::hosted_history() {
        output::warn(
            "past sessions are not offered: run `openagents privacy --allow hosted-history`, or see Settings → Privacy",
        );
    }
    // Read again each time: this process may run for days.
    let server = Server::new(Arc::new(workspace), move || wanted && surroundings::hosted_history());
    signals::run(serve(server)).map(|()| ExitCode::SUCCESS)
}

/// Serves until the client closes standard input or a signal arrives.
async fn serve(server: Server) -> anyhow::Result<()> {
    let mut signals = Interrupts::listen()?;
    let library = lines::connect(tokio::io::stdin(), tokio::io::stdout());
    let session = async {
        let ended = match server.serve((library.input, library.output)).await {
            Ok(service) => service.waiting().await.map(|_| ()).context("the server has stopped"),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error).context("the client sent no valid `initialize` request"),
        };
        library.writer.await.context("the server has stopped")??;
        ended
    };
    tokio::select! {
        ended = session => ended,
        () = signals.next() => Ok(()),
    }
}
