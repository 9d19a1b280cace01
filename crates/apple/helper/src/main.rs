//! The helper program for Foundation Models. See `openagents_apple_helper`.

use tracing_subscriber::EnvFilter;

fn main() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .init();
    openagents_apple_helper::serve(std::io::stdin(), std::io::stdout(), openagents_apple_helper::backend());
    // The client has exited: running answers are no longer needed.
    std::process::exit(0);
}
