//! Hosts and origins, on every route of the document and on every page.

use axum::body::Body;
use http::Request;
use store::database::Dialect;

use crate::world::{Answer, World};

async fn send(world: &World, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {}", world.admin));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn every_route_refuses_foreign_hosts_and_pages() {
    let world = World::new(Dialect::Sqlite).await;
    let document = api::document();
    let mut routes: Vec<(String, String)> = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            routes.push((method.to_uppercase(), path.replace(['{', '}'], "")));
        }
    }
    for page in [
        "/",
        "/api/v1/docs",
        "/api/v1/openapi.json",
        "/sign-in",
        "/nothing",
    ] {
        routes.push(("GET".to_owned(), page.to_owned()));
    }
    assert!(routes.len() > 60);
    let ours = ("host", "localhost:7347");
    for (method, path) in &routes {
        for headers in [
            &[][..],
            &[("host", "evil.example")],
            &[("host", "rebound.evil.example:7347")],
            &[ours, ("origin", "https://evil.example")],
            &[ours, ("origin", "null")],
            &[ours, ("origin", "http://localhost:8080")],
            &[ours, ("sec-fetch-site", "cross-site")],
        ] {
            let answer = send(&world, method, path, headers).await;
            answer.problem(403);
            assert!(answer.headers.get("access-control-allow-origin").is_none());
        }
        let answer = send(&world, method, path, &[ours]).await;
        assert_ne!(answer.status, 403, "{method} {path}");
        let policy = answer.header("content-security-policy");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        // No preflight request of another origin is allowed.
        let preflight = [ours, ("origin", "https://evil.example")];
        let answer = send(&world, "OPTIONS", path, &preflight).await;
        answer.problem(403);
    }
}

#[tokio::test]
async fn followed_link_from_another_site_opens_page() {
    let world = World::new(Dialect::Sqlite).await;
    let followed = [
        ("host", "localhost"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
    ];
    let page = send(&world, "GET", "/sign-in", &followed).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("sign-in.js") && !page.text.contains("<script>"));
}
