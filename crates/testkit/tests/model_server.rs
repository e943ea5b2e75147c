//! The responses of the model server to a client.

use anyhow::Context;
use serde_json::{Value, json};
use testkit::model_server::ModelServer;
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
