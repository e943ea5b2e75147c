//! Authentication, roles and permissions.

use std::net::SocketAddr;

use api::Peer;
use axum::body::Body;
use http::Request;
use model::access::{Permission, Role};
use serde_json::{Value, json};

use crate::world::{Answer, World};

pub(crate) async fn token_has_only_permissions_of_its_role(world: &World) {
    let session = world.session().await;
    let member = world.token(Role::Member, None).await;
    let viewer = world.token(Role::Viewer, None).await;
    let words = json!({ "text": "Hello" });
    let say = format!("/sessions/{session}/messages");
    for (token, method, path, body, status) in [
        (&viewer, "GET", say.as_str(), None, 200),
        (&viewer, "POST", say.as_str(), Some(&words), 403),
        (&member, "POST", say.as_str(), Some(&words), 202),
        (&member, "GET", "/tokens", None, 403),
        (&world.admin, "GET", "/tokens", None, 200),
    ] {
        let answer = world.request_as(token, method, path, body, &[]).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
    }
    let who = world
        .request_as(&viewer, "GET", "/whoami", None, &[])
        .await
        .expect(200);
    assert_eq!(who["role"], "viewer");
    assert_eq!(who["tenant"]["name"], "default");
    assert_eq!(who["permissions"].as_array().unwrap().len(), 6);
    // Internal records are for admins.
    let run = world.get("/runs").await.expect(200)["items"][0]["id"].clone();
    let record = format!("/runs/{}/record", run.as_str().unwrap());
    world
        .request_as(&member, "GET", &record, None, &[])
        .await
        .problem(403);
    world.get(&record).await.expect(200);
}

pub(crate) async fn answer_and_names_of_run_need_their_permissions(world: &World) {
    let automation = world.automation("daily").await;
    let path = format!("/automations/{}/fire", automation["id"].as_str().unwrap());
    let fired = world.post(&path, json!({})).await.expect(202);
    world
        .take_turns(fired["session_id"].as_str().unwrap())
        .await;
    let path = format!("/runs/{}", fired["id"].as_str().unwrap());
    let shown = async |scopes: &[Permission]| {
        let token = world.token(Role::Viewer, Some(scopes)).await;
        let shown = world.request_as(&token, "GET", &path, None, &[]).await;
        shown.expect(200)
    };
    let names = ["automation_name", "agent_name", "instance_name"];
    let narrow = shown(&[Permission::RunsRead]).await;
    for field in names.into_iter().chain(["session_title", "answer"]) {
        assert_eq!(narrow[field], Value::Null, "{field}");
    }
    let session = shown(&[Permission::RunsRead, Permission::SessionsRead]).await;
    assert_eq!(session["answer"], "Done.");
    assert_eq!(session["automation_name"], Value::Null);
    let whole = world.get(&path).await.expect(200);
    assert_eq!(whole["automation_name"], "daily");
    assert_eq!(whole["agent_name"], "good");
    assert!(whole["instance_name"].is_string(), "{whole}");

    let token = world
        .token(Role::Viewer, Some(&[Permission::RunsRead]))
        .await;
    let listed = world.request_as(&token, "GET", "/runs", None, &[]).await;
    let narrow = &listed.expect(200)["items"][0];
    for field in names.into_iter().chain(["session_title", "answer"]) {
        assert_eq!(narrow[field], Value::Null, "{field}");
    }
    let whole = &world.get("/runs").await.expect(200)["items"][0];
    assert_eq!(whole["automation_name"], "daily");
    assert_eq!(whole["agent_name"], "good");
    assert_eq!(whole["answer"], "Done.");
}

pub(crate) async fn runtime_token_is_refused_by_operations_of_people(world: &World) {
    let runtime = world.runtime_token("laptop").await;
    for (method, path) in [
        ("GET", "/whoami"),
        ("GET", "/runs"),
        ("GET", "/sessions"),
        ("POST", "/sign-in-links"),
        ("GET", "/trace"),
        ("GET", "/instances"),
    ] {
        let answer = world.request_as(&runtime, method, path, None, &[]).await;
        let detail = answer.problem(403);
        assert!(
            detail.contains("the token of a runtime"),
            "{path}: {detail}"
        );
    }
    let unknown = format!("{}x", &runtime[..runtime.len() - 1]);
    let answer = world.request_as(&unknown, "GET", "/runs", None, &[]).await;
    answer.problem(401);
}

pub(crate) async fn created_token_cannot_exceed_permissions_of_creator(world: &World) {
    let scopes = [Permission::TokensWrite, Permission::RunsRead];
    let narrow = world.token(Role::Admin, Some(&scopes)).await;
    let ask = async |body: Value| {
        world
            .request_as(&narrow, "POST", "/tokens", Some(&body), &[])
            .await
    };
    let wide = json!({ "name": "t", "role": "admin", "scopes": ["tenants:write"] });
    let refused = ask(wide).await.problem(422);
    assert!(
        refused.contains("tenants:write") && refused.contains("runs:read"),
        "{refused}"
    );
    let made = ask(json!({ "name": "t", "role": "admin" }))
        .await
        .expect(201);
    assert_eq!(made["scopes"], json!(["runs:read", "tokens:write"]));
    for role in ["runtime", "run"] {
        let refused = ask(json!({ "name": "t", "role": role })).await;
        assert!(refused.problem(422).contains("admin, member and viewer"));
    }
    let over = json!({ "name": "t", "role": "viewer", "expires_at": "2026-01-01T00:00:00Z" });
    assert!(ask(over).await.problem(422).contains("2026-01-01"));
}

pub(crate) async fn revoked_or_expired_token_is_unauthenticated(world: &World) {
    let member = world.token(Role::Member, None).await;
    let who = world
        .request_as(&member, "GET", "/whoami", None, &[])
        .await
        .expect(200);
    let path = format!("/tokens/{}", who["token"].as_str().unwrap());
    let revoked = world.delete(&path).await.expect(200);
    assert!(revoked["revoked_at"].is_string());
    world
        .request_as(&member, "GET", "/whoami", None, &[])
        .await
        .problem(401);
    // One that expires ends by itself.
    let soon = json!({ "name": "t", "role": "viewer", "expires_at": "2026-11-21T09:00:10Z" });
    let soon = world.post("/tokens", soon).await.expect(201);
    let soon = soon["secret"].as_str().unwrap();
    world
        .request_as(soon, "GET", "/whoami", None, &[])
        .await
        .expect(200);
    world.clock.advance(std::time::Duration::from_secs(10));
    world
        .request_as(soon, "GET", "/whoami", None, &[])
        .await
        .problem(401);
}

impl World {
    /// Creates a token with a token. Returns the response.
    async fn token_made_by(&self, maker: &str, body: &Value) -> Answer {
        self.request_as(maker, "POST", "/tokens", Some(body), &[])
            .await
    }
}

pub(crate) async fn made_token_expires_with_its_maker_and_names_it(world: &World) {
    let end = "2026-11-22T09:00:00Z";
    let maker = json!({ "name": "maker", "role": "admin", "expires_at": end });
    let maker = world.post("/tokens", maker).await.expect(201);
    let secret = maker["secret"].as_str().unwrap();
    let later = json!({ "name": "t", "role": "viewer", "expires_at": "2026-11-22T09:00:01Z" });
    let refused = world.token_made_by(secret, &later).await;
    assert_eq!(refused.json()["field"], "expires_at", "{}", refused.text);
    let detail = refused.problem(422);
    assert!(
        detail.contains("2026-11-22T09:00:01Z") && detail.contains(end),
        "{detail}"
    );
    for body in [
        json!({ "name": "t", "role": "admin" }),
        json!({ "name": "t", "role": "admin", "expires_at": null }),
    ] {
        let made = world.token_made_by(secret, &body).await.expect(201);
        assert_eq!(made["expires_at"], end);
        assert_eq!(made["made_by"], maker["id"]);
        let path = format!("/tokens/{}", made["id"].as_str().unwrap());
        assert_eq!(world.get(&path).await.expect(200)["made_by"], maker["id"]);
    }
    let tenant = json!({ "name": "other" });
    let tenant = world.request_as(secret, "POST", "/tenants", Some(&tenant), &[]);
    let tenant = tenant.await.expect(201);
    assert_eq!(tenant["token"]["expires_at"], end);
    // At the private socket, no token makes the token.
    let request = Request::post("/api/v1/tokens")
        .header("host", "localhost")
        .header("content-type", "application/json");
    let body = json!({ "name": "t", "role": "viewer" }).to_string();
    let request = request.body(Body::from(body)).unwrap();
    let made = world.send_from(Peer::Private, request).await.expect(201);
    assert_eq!(made["made_by"], Value::Null);
    assert_eq!(made["expires_at"], Value::Null);
}

pub(crate) async fn process_of_turn_is_refused_at_private_socket(world: &World) {
    let token = world.post("/tokens", json!({ "name": "t", "role": "admin" }));
    let token = token.await.expect(201);
    let bearer = format!("Bearer {}", token["secret"].as_str().unwrap());
    // Not even a valid token helps, because the agent may have read it from a file of its user.
    for authorization in [None, Some(bearer)] {
        let mut request = Request::post("/api/v1/tokens")
            .header("host", "localhost")
            .header("content-type", "application/json");
        if let Some(bearer) = authorization {
            request = request.header("authorization", bearer);
        }
        let body = json!({ "name": "u", "role": "admin" }).to_string();
        let request = request.body(Body::from(body)).unwrap();
        let refused = world.send_from(Peer::Agent, request).await;
        let detail = refused.problem(403);
        assert!(detail.contains("a process of a turn"), "{detail}");
    }
    let tokens = world.get("/tokens").await.expect(200);
    let names = tokens["items"].as_array().unwrap();
    assert!(names.iter().all(|token| token["name"] != "u"), "{tokens}");
}

pub(crate) async fn cascading_revocation_ends_all_made_tokens(world: &World) {
    let body = json!({ "name": "t", "role": "admin" });
    let root = world.post("/tokens", body.clone()).await.expect(201);
    let mut chain = vec![root];
    for _ in 0..2 {
        let maker = chain.last().unwrap()["secret"].as_str().unwrap();
        let made = world.token_made_by(maker, &body).await.expect(201);
        chain.push(made);
    }
    let last = chain[2]["secret"].as_str().unwrap();
    let whoami = async || world.request_as(last, "GET", "/whoami", None, &[]).await;
    let path = format!("/tokens/{}", chain[0]["id"].as_str().unwrap());
    let refused = world.delete(&format!("{path}?cascade=perhaps")).await;
    assert!(refused.problem(400).contains("cascade"), "{}", refused.text);
    let revoked = world.delete(&path).await.expect(200);
    assert!(revoked["revoked_at"].is_string());
    assert_eq!(revoked["also_revoked"], 0);
    assert_eq!(revoked["still_valid"], 2);
    whoami().await.expect(200);
    let revoked = world.delete(&format!("{path}?cascade=true")).await;
    let revoked = revoked.expect(200);
    assert_eq!(revoked["also_revoked"], 2);
    assert_eq!(revoked["still_valid"], 0);
    whoami().await.problem(401);
}

impl World {
    async fn sign_in(&self, code: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder()
            .method("POST")
            .uri("/api/v1/sign-in")
            .header("host", "localhost:7347")
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = json!({ "code": code }).to_string();
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    async fn code(&self) -> String {
        let link = self.post("/sign-in-links", json!({})).await.expect(201);
        let path = link["path"].as_str().unwrap();
        path.strip_prefix("/sign-in#").unwrap().to_owned()
    }

    async fn with_cookie(
        &self,
        cookie: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("host", "localhost:7347")
            .header("cookie", format!("theme=dark; {cookie}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }
}

const OUR_ORIGIN: [(&str, &str); 1] = [("origin", "http://localhost:7347")];

pub(crate) async fn api_sign_in_link_works_once(world: &World) {
    let code = world.code().await;
    let signed_in = world.sign_in(&code, &OUR_ORIGIN).await;
    signed_in.expect(204);
    let cookie = signed_in.header("set-cookie").to_owned();
    for part in [
        "matins=mat_",
        "HttpOnly",
        "SameSite=Strict",
        "Path=/",
        "Max-Age=",
    ] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let who = world
        .with_cookie(&cookie, "GET", "/whoami", &[])
        .await
        .expect(200);
    assert_eq!(who["role"], "admin");
    let again = world.sign_in(&code, &OUR_ORIGIN).await;
    assert!(again.problem(401).contains("used before"));
    world
        .sign_in("mal_nonsense", &OUR_ORIGIN)
        .await
        .problem(401);
    let late = world.code().await;
    world.clock.advance(std::time::Duration::from_secs(601));
    world.sign_in(&late, &OUR_ORIGIN).await.problem(401);
    // Signing out ends the cookie, not the token that made the link, nor one that came with the cookie.
    let both = Request::delete("/api/v1/sign-in")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", world.admin))
        .header("cookie", &cookie)
        .body(Body::empty())
        .unwrap();
    world.send(both).await.expect(204);
    world.get("/whoami").await.expect(200);
    world
        .with_cookie(&cookie, "DELETE", "/sign-in", &OUR_ORIGIN)
        .await
        .expect(204);
    world
        .with_cookie(&cookie, "GET", "/whoami", &[])
        .await
        .problem(401);
    world.get("/whoami").await.expect(200);
    // At the private socket a link is made without any token.
    let request = Request::builder()
        .method("POST")
        .uri("/api/v1/sign-in-links");
    let request = request
        .header("host", "localhost")
        .body(Body::empty())
        .unwrap();
    let link = world.send_from(Peer::Private, request).await.expect(201);
    let code = link["path"]
        .as_str()
        .unwrap()
        .strip_prefix("/sign-in#")
        .unwrap();
    world.sign_in(code, &OUR_ORIGIN).await.expect(204);
}

pub(crate) async fn browser_change_from_foreign_page_is_refused(world: &World) {
    let code = world.code().await;
    world.sign_in(&code, &[]).await.problem(403);
    let signed_in = world.sign_in(&code, &OUR_ORIGIN).await;
    let cookie = signed_in
        .header("set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let session = world.session().await;
    let pause = format!("/sessions/{session}/pause");
    for headers in [
        &[][..],
        &[("origin", "http://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
    ] {
        world
            .with_cookie(&cookie, "POST", &pause, headers)
            .await
            .problem(403);
    }
    let form = [
        ("origin", "http://localhost:7347"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let words = format!("/sessions/{session}/messages");
    world
        .with_cookie(&cookie, "POST", &words, &form)
        .await
        .problem(415);
    world
        .with_cookie(&cookie, "POST", &pause, &OUR_ORIGIN)
        .await
        .expect(200);
    let ours = [("sec-fetch-site", "same-origin")];
    let resume = format!("/sessions/{session}/resume");
    world
        .with_cookie(&cookie, "POST", &resume, &ours)
        .await
        .expect(200);
}

pub(crate) async fn sign_in_attempts_over_limit_get_429(world: &World) {
    let mut refused = 0;
    for _ in 0..20 {
        let answer = world.sign_in("mal_guess", &OUR_ORIGIN).await;
        if answer.status == 429 {
            assert!(answer.headers.contains_key("retry-after"));
            refused += 1;
        }
    }
    assert!((9..=10).contains(&refused), "{refused}");
    // Another address has its own.
    let other: SocketAddr = "127.0.0.2:50000".parse().unwrap();
    let request = Request::builder()
        .method("POST")
        .uri("/api/v1/sign-in")
        .header("host", "localhost:7347")
        .header("origin", "http://localhost:7347")
        .header("content-type", "application/json")
        .body(Body::from(r#"{"code":"mal_guess"}"#))
        .unwrap();
    world
        .send_from(Peer::Network(other), request)
        .await
        .problem(401);
}

pub(crate) async fn tenant_creation_requires_install_admin(world: &World) {
    let other = world.other_tenant("other").await;
    let body = json!({ "name": "third" });
    let refused = world
        .request_as(&other, "POST", "/tenants", Some(&body), &[])
        .await;
    refused.problem(403);
    let own = world
        .request_as(&other, "GET", "/tenants", None, &[])
        .await
        .expect(200);
    assert_eq!(own["items"].as_array().unwrap().len(), 1);
    assert_eq!(own["items"][0]["name"], "other");
    let all = world.get("/tenants").await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    let again = world.post("/tenants", json!({ "name": "other" })).await;
    assert!(again.problem(409).contains("other"));
    // A new tenant has only its own agents.
    let agents = world
        .request_as(&other, "GET", "/agents", None, &[])
        .await
        .expect(200);
    let items = agents["items"].as_array().unwrap();
    assert!(items.iter().any(|one| one["name"] == "claude"), "{agents}");
}

pub(crate) async fn agent_env_values_are_hidden_without_write_permission(world: &World) {
    let config = json!({ "command": ["good-agent"], "env": { "API_KEY": "hunter2" } });
    let put = world.request_as(&world.admin, "PUT", "/agents/keyed", Some(&config), &[]);
    put.await.expect(200);
    assert!(world.get("/agents/keyed").await.text.contains("hunter2"));
    let member = world.token(Role::Member, None).await;
    for path in ["/agents", "/agents/keyed"] {
        let seen = world.request_as(&member, "GET", path, None, &[]).await;
        assert!(seen.text.contains("API_KEY") && !seen.text.contains("hunter2"));
    }
}
