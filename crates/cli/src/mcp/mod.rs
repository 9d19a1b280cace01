//! `openagents mcp`: code findings and past sessions of one workspace, for other agents, over standard input and output.
//!
//! Read-only. Standard output carries only the protocol; logs go to standard error.

mod answer;
mod server;
mod tools;

use crate::{args, runtime, signals::Interrupts};
use anyhow::Context;
use openagents_core::workspace::Workspace;
use rmcp::{ServiceExt, service::ServerInitializeError, transport::stdio};
use server::Server;
use std::{process::ExitCode, sync::Arc};

pub(crate) fn run(arguments: &args::Mcp) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::open(&arguments.path).with_context(|| arguments.path.display().to_string())?;
    let server = Server::new(Arc::new(workspace), arguments.history);
    runtime::run(serve(server)).map(|()| ExitCode::SUCCESS)
}

/// Serves until the client closes standard input, or a signal.
async fn serve(server: Server) -> anyhow::Result<()> {
    let mut signals = Interrupts::listen()?;
    let session = async {
        match server.serve(stdio()).await {
            Ok(service) => service.waiting().await.map(|_| ()).context("the server has stopped"),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error).context("the client sent no valid `initialize` request"),
        }
    };
    tokio::select! {
        ended = session => ended,
        () = signals.next() => Ok(()),
    }
}
