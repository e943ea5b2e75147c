//! Tests that no request reaches a forbidden address, in any notation and by any name resolution.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use webhook::{Lookup, SendError, Sender};

use crate::receiver::{Receiver, SEND_TIMEOUT, ok_response, send, sender};

/// A lookup that returns its answers in order, and then repeats the last one.
struct ScriptedLookup {
    answers: Vec<Vec<IpAddr>>,
    lookup_count: AtomicUsize,
}

impl Lookup for ScriptedLookup {
    fn lookup(&self, _: &str) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>> {
        let at = self.lookup_count.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers.get(at).or(self.answers.last());
        let found = answer.cloned().unwrap_or_default();
        Box::pin(async move { Ok(found.into_iter().map(|at| (at, 0).into()).collect()) })
    }
}

fn sender_with_answers(allowed: &str, answers: &[&[&str]]) -> (Sender, Arc<ScriptedLookup>) {
    let parse = |answer: &&[&str]| answer.iter().map(|at| at.parse().unwrap()).collect();
    let lookup = Arc::new(ScriptedLookup {
        answers: answers.iter().map(parse).collect(),
        lookup_count: AtomicUsize::new(0),
    });
    let shared: Arc<dyn Lookup> = lookup.clone();
    let sender = Sender::with_lookup(allowed.parse().unwrap(), SEND_TIMEOUT, &shared);
    (sender.unwrap(), lookup)
}

#[tokio::test]
async fn no_notation_of_loopback_address_is_reached() {
    let mut receiver = Receiver::new(ok_response("secret")).await;
    let port = receiver.address.port();
    // The operating system resolves the names in its own way. None of the results may be reached.
    let sender = sender("");
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "ip6-localhost",
    ] {
        for scheme in ["http", "https"] {
            let sent = send(&sender, &format!("{scheme}://{host}:{port}/hook")).await;
            let refused = matches!(
                sent,
                Err(SendError::Url(_) | SendError::NotAllowed | SendError::NotResolved)
            );
            assert!(refused, "{scheme} {host}: {sent:?}");
        }
    }
    assert!(receiver.has_no_requests());
}

#[tokio::test]
async fn host_resolving_to_private_address_is_not_reached() {
    let mut receiver = Receiver::new(ok_response("secret")).await;
    let url = format!("https://innocent.example:{}/hook", receiver.address.port());
    for address in [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fd00:ec2::254",
    ] {
        let (sender, _) = sender_with_answers("", &[&[address]]);
        assert_eq!(
            send(&sender, &url).await,
            Err(SendError::NotAllowed),
            "{address}"
        );
    }
    assert!(receiver.has_no_requests());
}

#[tokio::test]
async fn checked_address_is_used_without_second_lookup() {
    let mut receiver = Receiver::new(ok_response("secret")).await;
    let url = format!("http://rebinding.example:{}/hook", receiver.address.port());
    // The first answer is permitted, but no receiver listens there. The second answer is the receiver, but no second
    // lookup takes place.
    let (sender, lookup) = sender_with_answers("127.0.0.2", &[&["127.0.0.2"], &["127.0.0.1"]]);
    let sent = send(&sender, &url).await;
    assert!(matches!(sent, Err(SendError::NotConnected(_))), "{sent:?}");
    assert_eq!(lookup.lookup_count.load(Ordering::SeqCst), 1);
    // The next request gets the second answer, which is not permitted.
    assert_eq!(send(&sender, &url).await, Err(SendError::NotAllowed));
    assert!(receiver.has_no_requests());
}

#[tokio::test]
async fn only_allowed_addresses_of_host_are_tried() {
    let mut receiver = Receiver::new(ok_response("")).await;
    let url = format!("http://mixed.example:{}/hook", receiver.address.port());
    let (sender, _) = sender_with_answers("127.0.0.2", &[&["127.0.0.1", "127.0.0.2"]]);
    let sent = send(&sender, &url).await;
    assert!(matches!(sent, Err(SendError::NotConnected(_))), "{sent:?}");
    assert!(receiver.has_no_requests());
    // If both addresses are allowed, the request arrives, so the first check was not passed by accident.
    let (sender, _) = sender_with_answers("127.0.0.0/8", &[&["127.0.0.1", "127.0.0.2"]]);
    assert!(send(&sender, &url).await.unwrap().is_success());
}

#[tokio::test]
async fn plain_http_reaches_allowed_hosts_only() {
    let (sender, _) = sender_with_answers("10.0.0.0/8", &[&["1.1.1.1"]]);
    let open = send(&sender, "http://public.example/hook").await;
    assert_eq!(open, Err(SendError::NotAllowed));
    let (sender, _) = sender_with_answers("hooks.internal", &[&["127.0.0.1"]]);
    let receiver = Receiver::new(ok_response("")).await;
    let url = |host: &str| format!("http://{host}:{}/hook", receiver.address.port());
    for host in ["hooks.internal", "Hooks.Internal."] {
        assert!(
            send(&sender, &url(host)).await.unwrap().is_success(),
            "{host}"
        );
    }
    let other = send(&sender, &url("other.internal")).await;
    assert!(matches!(other, Err(SendError::Url(_))), "{other:?}");
}

#[tokio::test]
async fn webhook_sender_ignores_environment_proxy() {
    // The test cannot set variables of its own environment safely. It checks the name resolution instead: with a proxy,
    // the sender would not resolve the name.
    let (sender, lookup) = sender_with_answers("", &[&["127.0.0.1"]]);
    let sent = send(&sender, "https://innocent.example/hook").await;
    assert_eq!(sent, Err(SendError::NotAllowed));
    assert_eq!(lookup.lookup_count.load(Ordering::SeqCst), 1);
}
