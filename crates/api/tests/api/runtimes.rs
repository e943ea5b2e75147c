//! The protocol of runtimes, as raw requests.

use model::access::Role;
use serde_json::{Value, json};

use crate::world::{Answer, World};

const RUN: &str = "run_01970197019701970197019701970197";

async fn send(world: &World, token: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let path = format!("/runtime/{path}");
    let body: Value = json!({ "version": "1", "key_of_a_later_version": true });
    world
        .request_as(token, "POST", &path, Some(&body), headers)
        .await
}

fn headers(version: &str) -> [(&str, &str); 2] {
    [
        ("matins-runtime-protocol", version),
        ("matins-runtime-worker", "laptop-1-00000001"),
    ]
}

pub(crate) async fn operation_of_runtimes_needs_token_of_runtime(world: &World) {
    let member = world.token(Role::Member, None).await;
    for token in [&world.admin, &member] {
        let refused = send(world, token, "register", &headers("1")).await;
        let detail = refused.problem(403);
        assert!(
            detail.contains("for the runtime of an instance"),
            "{detail}"
        );
    }
    let unknown = format!("{}x", &world.admin[..world.admin.len() - 1]);
    let refused = send(world, &unknown, "register", &headers("1")).await;
    refused.problem(401);
    let runtime = world.runtime_token("laptop").await;
    let registered = send(world, &runtime, "register", &headers("1")).await;
    let registered = registered.expect(200);
    assert_eq!(registered["status"], "registered");
    assert_eq!(registered["instance_name"], "laptop");
    let over = send(world, &runtime, &format!("runs/{RUN}/claim"), &headers("1")).await;
    assert_eq!(over.expect(200)["status"], "over");
}

pub(crate) async fn runtime_of_unsupported_version_is_refused_with_remedy(world: &World) {
    let runtime = world.runtime_token("laptop").await;
    for served in ["0", "1", "2"] {
        let registered = send(world, &runtime, "register", &headers(served)).await;
        registered.expect(200);
    }
    let refused = send(world, &runtime, "register", &headers("3")).await;
    let detail = refused.problem(409);
    assert!(
        detail.contains("version 3") && detail.contains("version 1"),
        "{detail}"
    );
    let hint = refused.json()["hint"].as_str().unwrap().to_owned();
    assert!(hint.starts_with("upgrade the server"), "{hint}");
}

pub(crate) async fn request_of_runtime_without_version_or_worker_is_refused(world: &World) {
    let runtime = world.runtime_token("laptop").await;
    let [version, worker] = headers("1");
    for (given, field) in [
        (vec![worker], version.0),
        (vec![version], worker.0),
        (vec![("matins-runtime-protocol", "one"), worker], version.0),
        (vec![version, ("matins-runtime-worker", "a b")], worker.0),
    ] {
        let refused = send(world, &runtime, "stop", &given).await;
        let detail = refused.problem(400);
        assert!(detail.contains(&format!("`{field}`")), "{detail}");
    }
    let stopped = send(world, &runtime, "stop", &headers("1")).await;
    assert_eq!(stopped.status, 204, "{}", stopped.text);
    let bad = send(world, &runtime, "runs/run_x/claim", &headers("1")).await;
    bad.problem(404);
    let bad = send(world, &runtime, &format!("runs/{RUN}/begin"), &headers("1")).await;
    let detail = bad.problem(400);
    assert!(detail.contains("secret_hash"), "{detail}");
}

pub(crate) async fn trigger_file_without_automation_of_instance_is_refused_with_reason(
    world: &World,
) {
    let runtime = world.runtime_token("laptop").await;
    let body = json!({ "automation": "nowhere", "key": "trigger-file-1", "later": true });
    let fire = async |body: &Value| {
        world
            .request_as(
                &runtime,
                "POST",
                "/runtime/triggers",
                Some(body),
                &headers("1"),
            )
            .await
    };
    // A refusal is a response, so that a runtime moves the file away only because of the file.
    let refused = fire(&body).await.expect(200);
    assert_eq!(refused["status"], "refused");
    let reason = refused["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("no automation `nowhere` is placed"),
        "{reason}"
    );
    let task = "x".repeat(model::limits::CONTENT_BYTES);
    let long = json!({ "automation": "nowhere", "key": "trigger-file-2", "task": task });
    let refused = fire(&long).await.expect(200);
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("accepted are up to 1048576"), "{reason}");
    let member = world.token(Role::Member, None).await;
    let path = "/runtime/triggers";
    let headers = headers("1");
    let other = world.request_as(&member, "POST", path, Some(&body), &headers);
    other.await.problem(403);
}
