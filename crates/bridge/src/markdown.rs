//! Renders Markdown for clients.

use openagents_sessions::run_blocking;
use openagents_share::markdown::{Code, plain_text, to_html};
use std::{sync::Arc, time::Duration};

/// Time limit; a text that takes longer is shown as it is.
const RENDER_TIME: Duration = Duration::from_secs(4);

pub(crate) async fn render(text: String) -> String {
    let text: Arc<str> = text.into();
    let rendering = text.clone();
    let rendered = run_blocking(move || to_html(&rendering, Code::Highlighted));
    match tokio::time::timeout(RENDER_TIME, rendered).await {
        Ok(Some(html)) => html,
        _ => plain_text(&text),
    }
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn render_highlights_code() {
        let html = super::render("```rust\nfn a() {}\n```".to_owned()).await;
        assert!(html.contains("hl-keyword"), "{html}");
    }
}
