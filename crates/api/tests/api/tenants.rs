//! Every operation of the document, with a foreign token, with too few permissions, and with none.

use std::collections::BTreeSet;

use axum::body::Body;
use http::Request;
use model::access::{Permission, Role};
use serde_json::{Value, json};

use crate::world::{Answer, World};

/// One operation of the document.
struct Operation {
    id: String,
    method: String,
    path: String,
    permission: Option<Permission>,
    public: bool,
}

fn operations() -> Vec<Operation> {
    let document = api::document();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(id) = operation["operationId"].as_str() else {
                continue;
            };
            let ways = operation["security"].as_array().unwrap();
            let named = ways.iter().find_map(|way| way["token"][0].as_str());
            operations.push(Operation {
                id: id.to_owned(),
                method: method.to_uppercase(),
                path: path.strip_prefix("/api/v1").unwrap().to_owned(),
                permission: named.map(|word| word.parse().unwrap()),
                public: ways.iter().any(|way| way.as_object().unwrap().is_empty()),
            });
        }
    }
    operations
}

/// A body that an operation takes. An operation that is new and takes one needs a line here.
fn body(id: &str) -> Option<Value> {
    Some(match id {
        "set_automation_memory_entry" | "set_session_memory_entry" => json!({ "value": "changed" }),
        "add_instance" => json!({ "name": "mine", "kind": "directory", "folder": "/srv/mine" }),
        "create_session" => json!({ "agent": "good" }),
        "edit_session" | "edit_task" => json!({ "title": "Mine now" }),
        "send_message" => json!({ "text": "Hello" }),
        "send_seat_message" => json!({ "to": "agent", "text": "Hello" }),
        "edit_run" => json!({ "content": "Mine now" }),
        "retry_runs" | "cancel_runs" => {
            json!({ "filter": { "status": ["failed", "queued"] }, "expected": 1 })
        }
        "create_automation" | "replace_automation" => {
            json!({ "prompt": "Look.", "agent": "good", "name": "mine" })
        }
        "edit_automation" => json!({ "prompt": "Mine now" }),
        "preview_runs" => json!({ "triggers": [{ "kind": "cron", "expression": "0 9 * * *" }] }),
        "dry_run_automation" => json!({ "definition": { "prompt": "Look.", "agent": "good" } }),
        "add_trigger" => json!({ "kind": "cron", "expression": "0 9 * * *" }),
        "put_agent" => json!({ "command": ["good-agent"] }),
        "create_token" => json!({ "name": "mine", "role": "viewer" }),
        "set_tenant_budget" => json!({ "day": { "turns": 1 } }),
        "create_tenant" => json!({ "name": "mine" }),
        "create_endpoint" | "replace_endpoint" => {
            json!({ "name": "mine", "url": "https://example.com/", "events": ["run.failed"] })
        }
        "answer_question" => json!({ "text": "mine" }),
        "start_goal" => json!({ "goal": "Draft it.", "agent": "good" }),
        "edit_goal" => json!({ "goal": "Mine now" }),
        "publish_tasks" => json!({ "plan_version": 0, "cancel": ["mine"] }),
        "sign_in" => json!({ "code": "mal_x" }),
        _ => return None,
    })
}

/// Something of the own tenant for each parameter of a path.
struct Fixtures {
    by_parameter: Vec<(&'static str, String)>,
}

impl Fixtures {
    async fn create(world: &World) -> Self {
        let session = world.session().await;
        let seats = world.get(&format!("/sessions/{session}/seats")).await;
        let said = json!({ "text": "Good morning" });
        let run = world
            .post(&format!("/sessions/{session}/messages"), said)
            .await
            .expect(202);
        let message = json!({ "to": "agent", "text": "private" });
        let message = world
            .post(&format!("/sessions/{session}/seat-messages"), message)
            .await
            .expect(201);
        let automation = world.automation("private").await;
        let hook = json!({ "kind": "webhook" });
        let id = automation["id"].as_str().unwrap();
        let triggers = world
            .post(&format!("/automations/{id}/triggers"), hook)
            .await
            .expect(201);
        let triggers = triggers["triggers"].as_array().unwrap().clone();
        let webhook = triggers.iter().find(|one| one["spec"]["kind"] == "webhook");
        let token = world.get("/tokens").await.expect(200)["items"][0]["id"].clone();
        let endpoint = json!({
            "name": "private", "url": "https://example.com/", "events": ["run.failed"],
        });
        let endpoint = world.post("/endpoints", endpoint).await.expect(201);
        let tested = format!("/endpoints/{}/test", endpoint["id"].as_str().unwrap());
        let delivery = world.post(&tested, json!({})).await.expect(202);
        let agent = world.get("/agents/good").await.expect(200);
        let here = model::InstanceId::from_uuid(uuid::Uuid::from_u128(9));
        let now = model::Clock::now(&*world.clock);
        let registered = world
            .store
            .register_instance(world.tenant, here, "private", now);
        registered.await.unwrap();
        let caller = world.begin_turn_with_tools(id).await;
        let approval = world.request_approval(caller.run, "private").await;
        let question = world.ask_person(&caller, "private?").await;
        let new = store::NewArtifact {
            name: "private".into(),
            media_type: "text/plain".into(),
            content: model::artifact::ArtifactContent::Uri("https://example.com/private".into()),
        };
        let now = model::Clock::now(&*world.clock);
        let artifact = world.store.save_artifact(&caller, &new, now).await.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        for owner in [
            format!("automations/{}", text(&automation["id"])),
            format!("sessions/{session}"),
        ] {
            let entry = format!("/{owner}/memory/note");
            world
                .put(&entry, json!({ "value": "private" }))
                .await
                .expect(200);
        }
        // The last one, because it starts a turn that no other request expects.
        let goal = json!({ "goal": "Draft it.", "agent": "good", "key": "private-goal" });
        let goal = world.post("/goals", goal).await.expect(201);
        let goal = text(&goal["id"]);
        let tasks = world.get(&format!("/sessions/{goal}/tasks")).await;
        let task = text(&tasks.expect(200)["tasks"][0]["id"]);
        Self {
            by_parameter: vec![
                ("goal", goal),
                ("task", task),
                ("session", session),
                ("seat", text(&seats.expect(200)["items"][0]["id"])),
                ("automation", text(&automation["id"])),
                ("trigger", text(&webhook.unwrap()["id"])),
                ("run", text(&run["id"])),
                ("message", text(&message["items"][0]["id"])),
                ("agent", text(&agent["id"])),
                ("instance", here.to_string()),
                ("token", text(&token)),
                ("tenant", world.tenant.to_string()),
                ("endpoint", text(&endpoint["id"])),
                ("delivery", text(&delivery["id"])),
                ("approval", approval),
                ("key", "note".to_owned()),
                ("question", question),
                ("artifact", artifact.id.to_string()),
            ],
        }
    }

    /// The path with these things in it. Fails for a parameter of which nothing was made.
    fn fill_path(&self, path: &str) -> String {
        let mut filled = path.to_owned();
        for (name, value) in &self.by_parameter {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        assert!(!filled.contains('{'), "nothing was made for {filled}");
        filled
    }

    /// Returns the path with IDs that do not exist.
    fn fill_path_with_unknown_ids(path: &str) -> String {
        let mut filled = path.to_owned();
        for (name, prefix) in [
            ("goal", "ses"),
            ("task", "task"),
            ("session", "ses"),
            ("seat", "seat"),
            ("automation", "aut"),
            ("trigger", "trg"),
            ("run", "run"),
            ("message", "msg"),
            ("agent", "har"),
            ("instance", "ins"),
            ("token", "tok"),
            ("tenant", "ten"),
            ("endpoint", "end"),
            ("delivery", "dlv"),
            ("approval", "apr"),
            ("key", "mem"),
            ("question", "que"),
            ("artifact", "art"),
        ] {
            let id = format!("{prefix}_{}", "0197".repeat(8));
            filled = filled.replace(&format!("{{{name}}}"), &id);
        }
        filled
    }
}

async fn send_operation(world: &World, token: &str, operation: &Operation, path: &str) -> Answer {
    let body = body(&operation.id);
    let ask = world.request_as(token, &operation.method, path, body.as_ref(), &[]);
    ask.await
}

/// Returns the status and the body, without the values of the request.
fn comparable_response(answer: &Answer, path: &str) -> (u16, String) {
    let mut text = answer.text.clone();
    for part in path.split('/').filter(|part| part.contains('_')) {
        text = text.replace(part, "...");
    }
    (answer.status.as_u16(), text)
}

/// Asserts that each operation answers for a resource of another tenant as for one that does not exist.
async fn operations_answer_alike(world: &World, things: &Fixtures, foreign: &str) {
    let mut walked = 0;
    for operation in operations() {
        // An agent that is put has a name of one's own, whatever that looks like.
        let own = operation.public || operation.id == "put_agent";
        if !operation.path.contains('{') || own {
            continue;
        }
        let path = things.fill_path(&operation.path);
        let nobodys = Fixtures::fill_path_with_unknown_ids(&operation.path);
        let theirs = send_operation(world, foreign, &operation, &path).await;
        let absent = send_operation(world, foreign, &operation, &nobodys).await;
        assert_eq!(theirs.status, 404, "{}: {}", operation.id, theirs.text);
        let (theirs, absent) = (
            comparable_response(&theirs, &path),
            comparable_response(&absent, &nobodys),
        );
        assert_eq!(theirs, absent, "{}", operation.id);
        walked += 1;
    }
    assert!(walked > 40, "{walked}");
}

pub(crate) async fn resource_of_another_tenant_is_not_found(world: &World) {
    let things = Fixtures::create(world).await;
    let foreign = world.other_tenant("other").await;
    operations_answer_alike(world, &things, &foreign).await;
    // And nothing of it has changed.
    let own = [
        ("session", "/sessions/"),
        ("automation", "/automations/"),
        ("run", "/runs/"),
        ("goal", "/goals/"),
    ];
    for (name, path) in own {
        let path = things.fill_path(&format!("{path}{{{name}}}"));
        let own = world.get(&path).await.expect(200);
        assert_ne!(own["title"], "Mine now");
        assert_ne!(own["prompt"], "Mine now");
        assert_ne!(own["goal"], "Mine now");
    }
    // Nor do lists tell of it, nor bodies and filters that name it.
    for list in [
        "/sessions",
        "/automations",
        "/runs",
        "/endpoints",
        "/instances",
        "/approvals?state=any",
        "/goals",
    ] {
        let path = list.to_owned();
        let list = world.request_as(&foreign, "GET", &path, None, &[]).await;
        let list = list.expect(200);
        let items = list.get("items").unwrap();
        assert_eq!(items, &json!([]), "{path}");
    }
    for list in ["/tokens", "/tenants", "/agents"] {
        let answer = world.request_as(&foreign, "GET", list, None, &[]).await;
        let items = answer.expect(200)["items"].as_array().unwrap().len();
        assert!(items > 0, "{list}: one's own is there");
        for (name, id) in &things.by_parameter {
            assert!(!answer.text.contains(id), "{list} tells of the {name}");
        }
    }
    for (path, body) in [
        ("/sessions", json!({ "agent": "{agent}" })),
        (
            "/sessions",
            json!({ "seats": [{ "role": "worker", "agent": "{agent}" }] }),
        ),
        (
            "/automations",
            json!({ "prompt": "Look.", "agent": "{agent}" }),
        ),
        (
            "/automations",
            json!({ "prompt": "Look.", "session": "bound:{session}" }),
        ),
        (
            "/endpoints",
            json!({
                "name": "mine", "url": "https://example.com/", "events": ["run.failed"],
                "automation": "{automation}",
            }),
        ),
    ] {
        let body = body.to_string();
        let mut answers = Vec::new();
        for (name, theirs) in &things.by_parameter {
            let place = format!("{{{name}}}");
            if !body.contains(&place) {
                continue;
            }
            for id in [theirs.clone(), Fixtures::fill_path_with_unknown_ids(&place)] {
                let asked = serde_json::from_str(&body.replace(&place, &id)).unwrap();
                let answer = world.request_as(&foreign, "POST", path, Some(&asked), &[]);
                let answer = answer.await;
                answer.problem(404);
                answers.push(answer.text.replace(&id, "..."));
            }
        }
        assert_eq!(answers.len(), 2, "{path} {body}");
        assert_eq!(answers[0], answers[1], "{path} {body}");
    }
    for filter in ["session", "automation"] {
        let path = things.fill_path(&format!("/runs?{filter}={{{filter}}}"));
        let list = world.request_as(&foreign, "GET", &path, None, &[]).await;
        list.problem(404);
    }
}

pub(crate) async fn operation_requires_its_documented_permission(world: &World) {
    let things = Fixtures::create(world).await;
    let mut named = BTreeSet::new();
    for operation in operations() {
        let Some(permission) = operation.permission else {
            continue;
        };
        named.insert(permission);
        let all = Permission::ALL.iter().copied();
        let others: Vec<_> = all.filter(|other| *other != permission).collect();
        let token = world.token(Role::Admin, Some(&others)).await;
        let path = things.fill_path(&operation.path);
        let refused = send_operation(world, &token, &operation, &path).await;
        let detail = refused.problem(403);
        assert!(
            detail.contains(permission.as_str()),
            "{}: {detail}",
            operation.id
        );
    }
    assert_eq!(named.len(), Permission::ALL.len(), "{named:?}");
}

pub(crate) async fn operation_without_valid_token_is_unauthenticated(world: &World) {
    let things = Fixtures::create(world).await;
    for operation in operations() {
        if operation.public {
            continue;
        }
        let path = things.fill_path(&operation.path);
        for authorization in [
            None,
            Some("Bearer mat_x"),
            Some("Basic YTpi"),
            Some("Bearer"),
        ] {
            let mut request = Request::builder()
                .method(operation.method.as_str())
                .uri(format!("/api/v1{path}"))
                .header("host", "localhost")
                .header("content-type", "application/json");
            if let Some(authorization) = authorization {
                request = request.header("authorization", authorization);
            }
            let body = body(&operation.id).map_or_else(Body::empty, |it| it.to_string().into());
            let answer = world.send(request.body(body).unwrap()).await;
            answer.problem(401);
            assert!(answer.header("www-authenticate").starts_with("Bearer"));
        }
    }
}
