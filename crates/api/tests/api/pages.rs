//! The page: its addresses, its files, its content security policy, and the paths that do not belong to it.

use axum::body::Body;
use http::Request;
use store::database::Dialect;

use crate::world::{Answer, World};

/// Sends a request without a token, as a browser does before a person has signed in.
async fn send(world: &World, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost:7347");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.send(request.body(Body::empty()).unwrap()).await
}

/// Returns the addresses of the files that `index.html` loads.
fn assets_of(page: &str) -> Vec<String> {
    let parts = page.split(['"', '\'']);
    parts
        .filter(|part| part.starts_with("/assets/"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn page_addresses_return_index_with_fresh_nonce() {
    let world = World::new(Dialect::Sqlite).await;
    let mut nonces = Vec::new();
    for path in [
        "/",
        "/conversations",
        "/conversations/ses_0199",
        "/automations/stand%20up/edit",
        "/approvals",
        "/runs/run_1",
        "/goals",
        "/goals/new",
        "/settings/tokens",
    ] {
        let page = send(&world, "GET", path, &[]).await;
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(page.header("cache-control"), "no-store");
        assert!(!page.text.contains("MATINS_"), "{}", page.text);
        let policy = page.header("content-security-policy");
        for directive in [
            "default-src 'none';",
            "script-src 'self';",
            "connect-src 'self';",
            "img-src 'self' data:;",
            "frame-ancestors 'none';",
            "base-uri 'none';",
            "form-action 'self'",
        ] {
            assert!(policy.contains(directive), "{directive}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        let (_, rest) = policy.split_once("'nonce-").unwrap();
        let nonce = rest.split('\'').next().unwrap().to_owned();
        assert!(page.text.contains(&nonce), "{path}");
        nonces.push(nonce);
    }
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 9, "a nonce must hold for one response");
}

#[tokio::test]
async fn head_of_page_shows_its_version() {
    let world = World::new(Dialect::Sqlite).await;
    let page = send(&world, "GET", "/", &[]).await;
    let head = send(&world, "HEAD", "/", &[]).await;
    assert_eq!((head.status.as_u16(), head.text.as_str()), (200, ""));
    let tag = head.header("etag");
    assert_eq!(tag, page.header("etag"));
    assert!(page.text.contains(tag.trim_matches('"')), "{tag}");
}

#[tokio::test]
async fn assets_are_immutable_and_compressed_on_request() {
    let world = World::new(Dialect::Sqlite).await;
    let page = send(&world, "GET", "/", &[]).await;
    let assets = assets_of(&page.text);
    assert!(assets.len() >= 2, "{}", page.text);
    for path in assets {
        let plain = send(&world, "GET", &path, &[]).await;
        assert_eq!(plain.status, 200, "{path}");
        assert_eq!(
            plain.header("cache-control"),
            "public, max-age=31536000, immutable"
        );
        assert_eq!(plain.header("vary"), "Accept-Encoding");
        assert!(plain.headers.get("content-encoding").is_none());
        let kind = plain.header("content-type");
        assert!(
            kind.starts_with("text/javascript") || kind.starts_with("text/css"),
            "{path}: {kind}"
        );
        let accept = [("accept-encoding", "gzip, br")];
        // Without the body, because it is no text.
        let packed = send(&world, "HEAD", &path, &accept).await;
        assert_eq!((packed.status.as_u16(), packed.text.as_str()), (200, ""));
        assert_eq!(packed.header("content-encoding"), "gzip", "{path}");
        let length = packed.header("content-length").parse::<usize>().unwrap();
        assert!(length < plain.text.len(), "{path}: {length}");
    }
}

#[tokio::test]
async fn licences_of_page_are_shown() {
    let world = World::new(Dialect::Sqlite).await;
    let licences = send(&world, "GET", "/licences.md", &[]).await;
    assert_eq!(licences.status, 200);
    assert_eq!(
        licences.header("content-type"),
        "text/markdown; charset=utf-8"
    );
    for package in ["react-dom", "highlight.js", "@tanstack/query-core"] {
        let heading = format!("\n## {package} - ");
        assert!(licences.text.contains(&heading), "{package}");
    }
}

#[tokio::test]
async fn paths_outside_the_page_return_problem_404() {
    let world = World::new(Dialect::Sqlite).await;
    for path in [
        "/api/v1/nothing",
        "/api",
        "/nothing",
        "/index.html",
        "/assets/nothing.js",
        "/assets/..%2Findex.html",
        "/conversation",
    ] {
        let answer = send(&world, "GET", path, &[]).await;
        answer.problem(404);
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'self'"), "{path}: {policy}");
    }
    send(&world, "POST", "/conversations", &[])
        .await
        .problem(405);
}

#[tokio::test]
async fn unknown_path_in_browser_returns_page_with_404() {
    let world = World::new(Dialect::Sqlite).await;
    let navigation = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for path in ["/nothing", "/conversation/ses_1", "/index.html", "/apis"] {
        let page = send(&world, "GET", path, &[("accept", navigation)]).await;
        assert_eq!(page.status, 404, "{path}");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert!(!page.text.contains("MATINS_"), "{}", page.text);
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
    }
    // The API and the files of the page answer browsers with problems, too, and so does every path without HTML.
    for (method, path, accept) in [
        ("GET", "/api/v1/nothing", navigation),
        ("GET", "/api", navigation),
        ("GET", "/assets/nothing.js", navigation),
        ("POST", "/nothing", navigation),
        ("GET", "/nothing", "*/*"),
        ("GET", "/nothing", "application/json"),
    ] {
        let answer = send(&world, method, path, &[("accept", accept)]).await;
        answer.problem(404);
    }
}
