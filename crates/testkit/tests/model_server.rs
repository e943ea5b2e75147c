//! The responses of the model server to a client.

use anyhow::Context;
use serde_json::{Value, json};
use testkit::model_server::{ModelServer, ScriptRule, ScriptStep};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

async fn post(server: &ModelServer, path: &str, body: &str) -> anyhow::Result<(String, String)> {
    let address = server.url().replace("http://", "");
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no body")?;
    Ok((head.to_owned(), body.to_owned()))
}

#[tokio::test]
async fn model_server_refuses_unknown_path_and_invalid_json() {
    let server = ModelServer::start().await.unwrap();
    let (head, _) = post(&server, "/v1/embeddings", "{}").await.unwrap();
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let (head, _) = post(&server, "/v1/responses", "{").await.unwrap();
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    assert_eq!(server.seen_requests(), []);
}

#[tokio::test]
async fn model_server_answer_counts_and_quotes_user_texts() {
    let server = ModelServer::start().await.unwrap();
    let messages = json!([
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": [{"type": "text", "text": "<environment/>"}]},
        {"role": "user", "content": "Remember the heron.\nIt is grey."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
    ]);
    let expected = "I was shown 2 requests: [1] Remember the heron. [2] And now?";
    for (path, field, pointer) in [
        (
            "/v1/chat/completions",
            "messages",
            "/choices/0/message/content",
        ),
        ("/v1/responses", "input", "/output/0/content/0/text"),
    ] {
        let mut request = json!({"model": "m"});
        request[field] = messages.clone();
        let (_, whole) = post(&server, path, &request.to_string()).await.unwrap();
        let whole: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(whole.pointer(pointer).unwrap(), expected);

        request["stream"] = json!(true);
        let (head, streamed) = post(&server, path, &request.to_string()).await.unwrap();
        assert!(head.contains("text/event-stream"), "{head}");
        assert!(streamed.contains(expected), "{streamed}");
    }
    let seen = server.seen_requests();
    assert_eq!(seen.len(), 4);
    assert!(
        seen.iter()
            .all(|call| call.user_texts == ["Remember the heron.", "And now?"])
    );
}

#[tokio::test]
async fn model_server_plays_first_rule_that_covers_newest_prompt() {
    let rule = |texts: &[&str], calls: &[&str]| ScriptRule {
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        calls: calls.iter().map(|call| (*call).to_owned()).collect(),
    };
    let script = vec![
        rule(
            &["Judge `a`", "Better."],
            &[r#"judge {"verdict":"accept"}"#],
        ),
        rule(
            &["Judge `a`"],
            &["look {}", r#"judge {"verdict":"send_back"}"#],
        ),
    ];
    let server = ModelServer::start_with_script(script).await.unwrap();
    let user = |text: &str| json!({"role": "user", "content": text});
    let first = user("You are a judge.\nJudge `a`: Good.");
    let result = json!({"role": "tool", "content": "ok"});
    let tools = ["look", "mcp__judge"].map(|name| json!({"function": {"name": name}}));
    let cases = [
        (
            vec![user("Hello"), first.clone()],
            Some("look"),
            Some((1, 0)),
        ),
        (
            vec![first.clone(), result.clone()],
            Some("mcp__judge"),
            Some((1, 1)),
        ),
        (
            vec![first.clone(), result.clone(), result.clone()],
            None,
            Some((1, 2)),
        ),
        (
            vec![first, result, user("Judge `a`: Better."), user("Thanks")],
            Some("mcp__judge"),
            Some((0, 0)),
        ),
        (vec![user("Hello")], None, None),
    ];
    for (number, (messages, tool, step)) in cases.into_iter().enumerate() {
        let request = json!({"model": "m", "messages": messages, "tools": tools});
        let path = "/v1/chat/completions";
        let (_, whole) = post(&server, path, &request.to_string()).await.unwrap();
        let whole: Value = serde_json::from_str(&whole).unwrap();
        let called = &whole["choices"][0]["message"]["tool_calls"][0]["function"]["name"];
        assert_eq!(called.as_str(), tool, "{whole}");
        let step = step.map(|(rule, answered)| ScriptStep { rule, answered });
        assert_eq!(server.seen_requests()[number].step, step);
    }
    // Without the tool, as in a request for a title, the model answers with a text.
    let request = json!({"model": "m", "messages": [user("Judge `a`")], "tools": []});
    let path = "/v1/chat/completions";
    post(&server, path, &request.to_string()).await.unwrap();
    assert_eq!(server.seen_requests().last().unwrap().step, None);
}
