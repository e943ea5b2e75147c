//! Tests of sent requests, and of the handling of responses.

use std::time::Duration;

use tokio::net::TcpListener;
use webhook::{SendError, Sender, SigningSecret};

use crate::receiver::{Receiver, now, ok_response, secret, send, sender};

#[tokio::test]
async fn sent_webhook_verifies_with_each_secret() {
    let mut receiver = Receiver::new(ok_response("thanks")).await;
    let old: SigningSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD".parse().unwrap();
    let body = r#"{"text":"naïve 🌅"}"#;
    let sender = sender("127.0.0.0/8");
    let answer = sender
        .send(&receiver.url(), &[&secret(), &old], "dlv_7", body, now())
        .await
        .unwrap();
    assert!(answer.is_success());
    assert_eq!((answer.status, answer.text.as_str()), (200, "thanks"));
    let request = receiver.requests.recv().await.unwrap();
    assert_eq!(request.line, "POST /hook HTTP/1.1");
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(request.body, body.as_bytes());
    for secret in [secret(), old] {
        let verified = webhook::verify(&[&secret], &request.headers, &request.body, now());
        assert_eq!(verified.unwrap().id, "dlv_7");
    }
}

#[tokio::test]
async fn webhook_redirect_is_returned_and_not_followed() {
    let mut inside = Receiver::new(ok_response("secret")).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!(
            "HTTP/1.1 {status} Moved\r\nlocation: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            inside.url()
        );
        let outside = Receiver::new(location).await;
        // The target of the redirect is allowed, so only the redirect policy keeps the sender away from it.
        let answer = send(&sender("127.0.0.0/8"), &outside.url()).await.unwrap();
        assert_eq!(answer.status, status);
        assert!(!answer.is_success());
    }
    assert!(inside.has_no_requests());
}

#[tokio::test]
async fn long_webhook_response_is_truncated() {
    // The body is longer than the sender reads, and never ends.
    let endless = format!(
        "HTTP/1.1 500 No\r\ncontent-length: 999999999\r\n\r\n{}",
        "x".repeat(1 << 20)
    );
    let receiver = Receiver::new(endless).await;
    let answer = send(&sender("127.0.0.1"), &receiver.url()).await.unwrap();
    assert_eq!((answer.status, answer.text.len()), (500, 1024));
}

#[tokio::test]
async fn webhook_send_errors_are_distinguished() {
    let silent = Receiver::new(None).await;
    let hasty = Sender::new("127.0.0.1".parse().unwrap(), Duration::from_millis(50)).unwrap();
    assert_eq!(send(&hasty, &silent.url()).await, Err(SendError::TimedOut));

    let patient = sender("127.0.0.1");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", closed.local_addr().unwrap());
    drop(closed);
    let refused = send(&patient, &url).await;
    assert!(
        matches!(refused, Err(SendError::NotConnected(_))),
        "{refused:?}"
    );

    for response in ["SSH-2.0-OpenSSH\r\n", ""] {
        let receiver = Receiver::new(response.to_owned()).await;
        let broken = send(&patient, &receiver.url()).await;
        assert!(
            matches!(broken, Err(SendError::ConnectionBroken(_))),
            "{broken:?}"
        );
        let message = broken.unwrap_err().to_string();
        assert!(!message.contains("127.0.0.1"), "{message}");
    }

    // A receiver without TLS does not get the request as plain text.
    let mut plain = Receiver::new(ok_response("")).await;
    let url = plain.url().replace("http:", "https:");
    let refused = send(&patient, &url).await;
    assert!(
        matches!(refused, Err(SendError::NotConnected(_))),
        "{refused:?}"
    );
    assert!(plain.has_no_requests());
}
