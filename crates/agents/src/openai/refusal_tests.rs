//! Tests of the error sentences.

use super::*;

fn sentences(server: &str) -> Sentences {
    let endpoint = Endpoint::named("some-model", Some(server), Some("A_KEY"));
    let local = server != "openai";
    let origin = endpoint.base_url.trim_end_matches("/v1").to_owned();
    Sentences::new(&endpoint, &origin, local)
}

#[test]
#[cfg(not(target_os = "macos"))]
fn status_becomes_sentence_with_remedy() {
    let key = Secret::new("sk-123");
    let openai = |message: &str, code: &str| {
        format!(r#"{{"error":{{"message":"{message}","type":"x","code":"{code}"}}}}"#)
    };
    let rows = [
        (401, openai("Incorrect API key provided: sk-123.", "invalid_api_key")),
        (403, openai("Country not supported", "unsupported_country")),
        (404, openai("The model `some-model` does not exist", "model_not_found")),
        (404, "404 page not found".to_owned()),
        (404, "<html><body>Not Found</body></html>".to_owned()),
        (429, openai("Rate limit reached for sk-123", "rate_limit_exceeded")),
        (429, openai("You exceeded your current quota.", "insufficient_quota")),
        (400, openai("Invalid schema for\\nfunction 'x'.", "invalid_function_parameters")),
        (422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#.to_owned()),
        (400, r#"{"error":"model 'm' not found, try pulling it first"}"#.to_owned()),
        (
            400,
            r#"[{"error":{"code":400,"message":"Gemini says so","status":"INVALID_ARGUMENT"}}]"#.to_owned(),
        ),
        (500, r#"{"error":{"code":500,"message":"out of memory","type":"server_error"}}"#.to_owned()),
        (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#.to_owned()),
        (502, String::new()),
        (413, "x".repeat(10_000)),
    ];
    let shown: Vec<String> = rows
        .iter()
        .map(|(status, body)| {
            let status = StatusCode::from_u16(*status).unwrap();
            let trouble = sentences("openai").status(status, &HeaderMap::new(), body, key.as_ref());
            assert!(!format!("{trouble:?}").contains("sk-123"), "{trouble:?}");
            assert_eq!(
                trouble.passes.is_some(),
                [429, 500, 502, 503].contains(&status.as_u16()) && !body.contains("quota"),
                "{body}"
            );
            trouble.error.to_string()
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    let without = sentences("vllm").status(StatusCode::UNAUTHORIZED, &HeaderMap::new(), "", None);
    assert_eq!(
        without.error.to_string(),
        "vLLM at http://127.0.0.1:8000 asks for a key (401); set A_KEY to its key"
    );
}

#[test]
fn context_overflow_is_recognized() {
    let rows = [
        (
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.","code":"context_length_exceeded","param":"messages"}}"#,
            (10_000, 8192),
        ),
        (
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#,
            (5000, 4096),
        ),
        (
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5001 tokens (1 in the messages, 5000 in the completion).","type":"BadRequestError","code":400}"#,
            (5001, 4096),
        ),
        (
            r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens."}"#,
            (5000, 4096),
        ),
        (
            r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            (1_200_000, 1_048_576),
        ),
        (r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#, (210_000, 200_000)),
    ];
    for (body, (needed, context)) in rows {
        let trouble = sentences("vllm").status(StatusCode::BAD_REQUEST, &HeaderMap::new(), body, None);
        assert_eq!(trouble, RequestFailure::new(ModelError::ContextOverflow { needed, context }), "{body}");
    }
}

#[test]
fn retry_after_accepts_every_form() {
    let date = |seconds: i64| {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    };
    let header = |name: &'static str, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        retry_after(&headers)
    };
    assert_eq!(header("retry-after", "7"), Some(Duration::from_secs(7)));
    assert_eq!(header("retry-after", " 0.5 "), Some(Duration::from_millis(500)));
    assert_eq!(header("retry-after-ms", "250"), Some(Duration::from_millis(250)));
    let until = header("retry-after", &date(3600)).unwrap();
    assert!(until > Duration::from_secs(3000) && until <= Duration::from_secs(3600), "{until:?}");
    for senseless in ["-1", "soon", "NaN", "1e400", ""] {
        assert_eq!(header("retry-after", senseless), None, "{senseless}");
    }
    assert_eq!(header("retry-after", &date(-3600)), None);
}
