//! Unified mode, with requests of browsers.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use store::database::Dialect;

use crate::world::{Answer, World};

/// A server in unified mode beside the one that is not.
async fn unified(dialect: Dialect) -> World {
    World::with_api(dialect, |api| api.with_unified_mode(true)).await
}

impl World {
    /// Asks as a browser that is signed in.
    async fn post_as_browser(&self, cookie: &str, path: &str, body: &Value) -> Answer {
        let request = Request::builder()
            .method("POST")
            .uri(format!("/api/v1{path}"))
            .header("host", "localhost:7347")
            .header("origin", "http://localhost:7347")
            .header("content-type", "application/json")
            .header("cookie", cookie);
        self.send(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    async fn sign_in_cookie(&self) -> String {
        let link = self.post("/sign-in-links", json!({})).await.expect(201);
        let code = link["path"].as_str().unwrap();
        let code = code.strip_prefix("/sign-in#").unwrap();
        let signed_in = self
            .post_as_browser("", "/sign-in", &json!({ "code": code }))
            .await;
        signed_in.expect(204);
        let cookie = signed_in.header("set-cookie");
        cookie.split(';').next().unwrap().to_owned()
    }

    async fn create_chat(&self, key: &str) {
        let asked = json!({ "agent": "good", "session_key": key });
        self.post("/sessions", asked).await.expect(201);
    }
}

fn bound_automation(name: &str, session: &str) -> Value {
    json!({ "name": name, "prompt": "Look.", "agent": "good", "session": session })
}

pub(crate) async fn server_info_shows_unified_mode(world: &World) {
    let detail = world.get("/server").await.expect(200);
    assert_eq!(detail["unified_session"], false);
    let world = unified(world.dialect).await;
    let detail = world.get("/server").await.expect(200);
    assert_eq!(detail["unified_session"], true);
}

pub(crate) async fn automation_from_browser_is_bound_to_unified_session(world: &World) {
    let asked = bound_automation("news", "bound");
    let cookie = world.sign_in_cookie().await;
    let refused = world.post_as_browser(&cookie, "/automations", &asked).await;
    assert!(refused.problem(422).contains("a session"));

    let world = unified(world.dialect).await;
    let cookie = world.sign_in_cookie().await;
    let made = world.post_as_browser(&cookie, "/automations", &asked).await;
    assert_eq!(made.expect(201)["bound_session_key"], "unified:default");
    // A program must name the session.
    let asked = bound_automation("weather", "bound");
    world.post("/automations", asked).await.problem(422);
    world.create_chat("web:7").await;
    let asked = bound_automation("weather", "bound:web:7");
    let made = world.post("/automations", asked).await.expect(201);
    assert_eq!(made["bound_session_key"], "unified:default");
}

pub(crate) async fn automation_list_filters_by_session_in_unified_mode(world: &World) {
    world.create_chat("web:7").await;
    world.create_chat("web:8").await;
    let asked = bound_automation("apart", "bound:web:7");
    world.post("/automations", asked).await.expect(201);
    world.automation("fresh").await;
    let shown = async |world: &World, key: &str| {
        let path = format!("/automations?session={key}");
        let listed = world.get(&path).await.expect(200);
        let listed = listed["items"].as_array().unwrap().iter();
        let names = listed.map(|one| one["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(shown(world, "web:7").await, ["apart"]);
    assert_eq!(shown(world, "web:8").await, [""; 0]);
    world.get("/automations?session=none").await.problem(404);

    let world = unified(world.dialect).await;
    world.create_chat("web:7").await;
    world.create_chat("web:8").await;
    let asked = bound_automation("shared", "bound:web:7");
    world.post("/automations", asked).await.expect(201);
    for key in ["web:7", "web:8", "unified:default"] {
        assert_eq!(shown(&world, key).await, ["shared"], "{key}");
    }
}
