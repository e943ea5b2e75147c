//! Goals and their tasks, as clients start, read and change them.

use serde_json::{Value, json};

use crate::world::World;

fn goal() -> Value {
    json!({ "goal": "Draft the campaign.", "agent": "good", "key": "spring" })
}

pub(crate) async fn goal_is_started_once_and_listed_by_state(world: &World) {
    let headers = [("idempotency-key", "one")];
    let goal = goal();
    let start = world.request_as(&world.admin, "POST", "/goals", Some(&goal), &headers);
    let started = start.await.expect(201);
    let again = world.request_as(&world.admin, "POST", "/goals", Some(&goal), &headers);
    assert_eq!(again.await.expect(201), started);
    assert_eq!(
        (&started["state"], &started["phase"], &started["team"]),
        (&json!("active"), &json!("planning"), &json!("research"))
    );
    assert_eq!(started["seats"][0]["task"], "plan#1");
    let all = world.get("/goals?limit=1").await.expect(200);
    assert_eq!(all["items"][0]["id"], started["id"]);
    assert_eq!(all["items"][0]["phase"], "planning");
    let done = world.get("/goals?state=done").await.expect(200);
    assert_eq!(done["items"], json!([]));
    world.get("/goals?state=over").await.problem(400);
    // The same key names another goal.
    let detail = world.post("/goals", goal.clone()).await.problem(409);
    assert!(
        detail.contains("is that of another goal or session"),
        "{detail}"
    );
}

pub(crate) async fn invalid_goal_is_refused_with_its_field(world: &World) {
    let planner = "name = \"own\"\nseats = [{ role = \"planner\", entry = true }, { role = \"worker\", agent = \"x\" }]\n";
    let config = json!({ "command": ["good-agent"] });
    let put = world.request_as(&world.admin, "PUT", "/agents/other", Some(&config), &[]);
    put.await.expect(200);
    let other = "name = \"own\"\nseats = [{ role = \"planner\", entry = true, agent = \"good\" }, { role = \"worker\", agent = \"other\" }]\n";
    let cases = [
        (json!({ "goal": " " }), 422, "goal"),
        (json!({ "goal": "x".repeat(32 * 1024 + 1) }), 422, "32768"),
        (
            json!({ "agent": "nobody" }),
            422,
            "invalid agent `nobody`: there is no such agent; accepted are ",
        ),
        (
            json!({ "team": "reserach" }),
            422,
            "did you mean `research`?",
        ),
        (
            json!({ "team_file": { "name": "own.toml", "text": "name = 1\n" } }),
            422,
            "own.toml:1:",
        ),
        (
            json!({ "team_file": { "name": "own.toml", "text": planner } }),
            422,
            "own.toml:2:65: invalid `seats[1].agent = \"x\"`: there is no such agent; accepted are ",
        ),
        (
            json!({ "team_file": { "name": "own.toml", "text": other }, "agent": "good" }),
            422,
            "invalid agent `good`: each seat of the team names its agent",
        ),
        (
            json!({ "limits": { "turns": 0 } }),
            422,
            "accepted are 1 to 100000",
        ),
        (json!({ "verify": [" "] }), 422, "a command on one line"),
        (json!({ "budget": { "tokens": 0 } }), 422, "budget.tokens"),
        (
            json!({ "budget": { "cost": { "amount": "0", "currency": "USD" } } }),
            422,
            "above 0",
        ),
        (
            json!({ "until": "2001-01-01T00:00:00Z" }),
            422,
            "it is past",
        ),
        (
            json!({ "until": "07:00" }),
            400,
            "invalid `until`: invalid value: string \"07:00\", expected an instant with an offset, such as 2026-11-20T06:00:00Z",
        ),
        (
            json!({ "until": "9999-12-31T23:59:59Z" }),
            400,
            "invalid `until`: the instant \"9999-12-31T23:59:59Z\" is out of range, accepted are instants from ",
        ),
        (json!({ "cwd": "relative" }), 422, "absolute"),
        (
            json!({ "cwd": "/", "own_folder": true }),
            422,
            "one of both",
        ),
        (json!({ "on": "nowhere" }), 422, "no such instance"),
        (json!({ "colour": 1 }), 400, "colour"),
    ];
    for (change, status, says) in cases {
        let mut request = goal();
        for (name, value) in change.as_object().unwrap() {
            request[name] = value.clone();
        }
        let detail = world.post("/goals", request).await.problem(status);
        assert!(detail.contains(says), "{says}: {detail}");
    }
    let goals = world.get("/goals").await.expect(200);
    assert_eq!(goals["items"], json!([]));
    let sessions = world.get("/sessions").await.expect(200);
    assert_eq!(sessions["items"], json!([]));
}

pub(crate) async fn person_changes_plan_and_tasks_of_goal(world: &World) {
    let started = world.post("/goals", goal()).await.expect(201);
    let id = started["id"].as_str().unwrap();
    let path = format!("/sessions/{id}/tasks");
    let task = |key: &str| json!({ "key": key, "title": key, "role": "worker" });
    // A plan of another version, or with mistakes, changes nothing.
    let stale = json!({ "plan_version": 3, "tasks": [task("a")] });
    let detail = world.post(&path, stale).await.problem(409);
    assert!(detail.contains("the present version is 0"), "{detail}");
    let with = |mut task: Value, field: &str, value: Value| {
        task[field] = value;
        task
    };
    let coder = with(task("b"), "role", json!("coder"));
    let unknown = with(task("b"), "depends_on", json!(["c"]));
    let broken = with(task("b"), "title", json!("B\u{1b}[2J"));
    let of_b = with(task("a"), "depends_on", json!(["b"]));
    let of_a = with(task("b"), "depends_on", json!(["a"]));
    let cases = [
        (json!([task("a"), coder]), "tasks[1].role", "is `coder`"),
        (
            json!([task("a"), unknown]),
            "tasks[1].depends_on",
            "no task",
        ),
        (json!([task("a"), broken]), "tasks[1].title", "on one line"),
        (json!([of_b, of_a]), "tasks", "makes the cycle"),
        (json!([task("a"), task("a")]), "tasks[1].key", "twice"),
        (json!([]), "tasks", "missing"),
    ];
    for (tasks, field, says) in cases {
        let plan = json!({ "plan_version": 0, "tasks": tasks });
        let refused = world.post(&path, plan).await;
        let detail = refused.problem(422);
        assert!(detail.contains(says), "{says}: {detail}");
        let problem = refused.expect(422);
        assert_eq!(
            (&problem["kind"], &problem["field"]),
            (&json!("invalid"), &json!(field))
        );
    }
    let cancel = json!({ "plan_version": 0, "cancel": ["c"] });
    let refused = world.post(&path, cancel).await.expect(422);
    assert_eq!(refused["field"], "cancel");
    let plan = json!({ "plan_version": 0, "tasks": [task("a"), { "key": "b", "title": "b", "role": "worker", "depends_on": ["a"] }] });
    let tasks = world.post(&path, plan).await.expect(200);
    assert_eq!(tasks["plan_version"], 1);
    let found = tasks["tasks"].as_array().unwrap();
    let named = |key: &str| found.iter().find(|task| task["key"] == key).unwrap();
    assert_eq!(named("b")["waits_for"], "a");
    let a = format!("/tasks/{}", named("a")["id"].as_str().unwrap());
    let details = world.get(&a).await.expect(200);
    assert_eq!(details["writes"], json!(["."]));
    world
        .post(&format!("{a}/retry"), json!({}))
        .await
        .problem(409);
    let reason = json!({ "comment": "It is done already." });
    let cancelled = world.post(&format!("{a}/cancel"), reason).await.expect(200);
    assert_eq!(cancelled["status"], "CANCELLED");
    // The planner gets the reason as a message.
    let runs = world.get(&format!("/runs?session={id}")).await.expect(200);
    let runs = runs["items"].to_string();
    assert!(
        runs.contains("A person cancelled the task a: It is done already."),
        "{runs}"
    );
    let report = world.get(&format!("/goals/{id}/report")).await.expect(200);
    assert_eq!(report["complete"], false);
    let text = report["text"].as_str().unwrap();
    assert!(text.contains("| a | a | CANCELLED |"), "{text}");
}

pub(crate) async fn goal_is_changed_paused_and_cancelled(world: &World) {
    let started = world.post("/goals", goal()).await.expect(201);
    let path = format!("/goals/{}", started["id"].as_str().unwrap());
    let edit = async |patch: Value| {
        let patch = world.request_as(&world.admin, "PATCH", &path, Some(&patch), &[]);
        patch.await
    };
    let budget = json!({ "budget": { "cost": { "amount": "9", "currency": "usd" } }, "limits": { "turns": 7 } });
    let edited = edit(budget).await.expect(200);
    assert_eq!(edited["budget"]["cost"]["currency"], "USD");
    assert_eq!(edited["turn_limit"], 7);
    // A limit of the budget that the patch does not name stays.
    let tokens = json!({ "budget": { "tokens": 5000 } });
    let edited = edit(tokens).await.expect(200);
    let both = json!({ "tokens": 5000, "cost": { "amount": "9", "currency": "USD" } });
    assert_eq!(edited["budget"], both);
    let edited = edit(json!({ "budget": { "tokens": null } })).await;
    assert_eq!(edited.expect(200)["budget"]["tokens"], Value::Null);
    let edited = edit(json!({ "budget": null, "goal": "Draft two." }))
        .await
        .expect(200);
    assert_eq!(
        (&edited["budget"], &edited["goal"]),
        (&Value::Null, &json!("Draft two."))
    );
    let detail = edit(json!({ "limits": { "hours": 2 } })).await.problem(422);
    assert!(detail.contains("fixed at the start"), "{detail}");
    world
        .post(&format!("{path}/start"), json!({}))
        .await
        .problem(409);
    let paused = world
        .post(&format!("{path}/pause"), json!({}))
        .await
        .expect(200);
    assert_eq!(
        (&paused["state"], &paused["reason"]),
        (&json!("paused"), &json!("person"))
    );
    world
        .post(&format!("{path}/resume"), json!({}))
        .await
        .expect(200);
    let over = world
        .post(&format!("{path}/cancel"), json!({}))
        .await
        .expect(200);
    assert_eq!(
        (&over["state"], &over["reason"]),
        (&json!("failed"), &json!("cancelled"))
    );
    assert_ne!(over["ended_at"], Value::Null);
    world
        .post(&format!("{path}/replan"), json!({}))
        .await
        .problem(409);
    edit(json!({ "goal": "Draft three." })).await.problem(409);
}

pub(crate) async fn goal_edit_with_stale_etag_is_refused(world: &World) {
    let started = world.post("/goals", goal()).await.expect(201);
    let path = format!("/goals/{}", started["id"].as_str().unwrap());
    let tag = world.get(&path).await.header("etag").to_owned();
    let edit = async |patch: Value, tag: &str| {
        let headers = [("if-match", tag)];
        let sent = world.request_as(&world.admin, "PATCH", &path, Some(&patch), &headers);
        sent.await
    };
    // Each field that a person can change has a part in the tag.
    let patches = [
        json!({ "limits": { "turns": 7 } }),
        json!({ "budget": { "tokens": 1000 } }),
        json!({ "until": "2999-01-01T00:00:00Z" }),
        json!({ "goal": "Draft two." }),
    ];
    let mut seen = tag.clone();
    for patch in patches {
        let edited = edit(patch.clone(), &seen).await;
        let next = edited.header("etag").to_owned();
        edited.expect(200);
        assert_ne!(next, seen, "{patch}");
        assert_eq!(world.get(&path).await.header("etag"), next);
        let stale = edit(json!({ "goal": "Draft none." }), &seen).await;
        assert!(stale.problem(412).contains("If-Match"), "{patch}");
        seen = next;
    }
    let goal = world.get(&path).await.expect(200);
    assert_eq!(goal["goal"], "Draft two.");
    // A move is no edit, so that the progress of a goal makes no edit fail.
    world
        .post(&format!("{path}/pause"), json!({}))
        .await
        .expect(200);
    assert_eq!(world.get(&path).await.header("etag"), seen);
    edit(json!({ "goal": "Draft three." }), "*")
        .await
        .expect(200);
    edit(json!({ "goal": "Draft four." }), &tag)
        .await
        .problem(412);
}

/// Starts a goal with a task `a` that has begun and a task `b` that waits for it. Returns the path of its tasks, and those of
/// `a` and `b`.
async fn goal_with_waiting_task(world: &World) -> (String, [String; 2]) {
    let started = world.post("/goals", goal()).await.expect(201);
    let path = format!("/sessions/{}/tasks", started["id"].as_str().unwrap());
    let plan = json!({ "plan_version": 0, "tasks": [
        { "key": "a", "title": "a", "role": "worker" },
        { "key": "b", "title": "b", "role": "worker", "description": "Do it well.", "depends_on": ["a"] },
    ] });
    let tasks = world.post(&path, plan).await.expect(200);
    let tasks = tasks["tasks"].as_array().unwrap();
    let named = |key: &str| {
        let task = tasks.iter().find(|task| task["key"] == key).unwrap();
        format!("/tasks/{}", task["id"].as_str().unwrap())
    };
    (path, [named("a"), named("b")])
}

pub(crate) async fn waiting_task_is_edited_with_its_etag(world: &World) {
    let (tasks, [a, b]) = goal_with_waiting_task(world).await;
    let edit = async |task: &str, patch: Value, tag: &str| {
        let headers = [("if-match", tag)];
        let sent = world.request_as(&world.admin, "PATCH", task, Some(&patch), &headers);
        sent.await
    };
    let first = world.get(&b).await.header("etag").to_owned();
    let patch = json!({ "title": "Write b", "acceptance": ["It is short."], "priority": 0 });
    let edited = edit(&b, patch, &first).await;
    let second = edited.header("etag").to_owned();
    assert_ne!(second, first);
    let edited = edited.expect(200);
    assert_eq!(
        (&edited["title"], &edited["acceptance"], &edited["priority"]),
        (&json!("Write b"), &json!(["It is short."]), &json!(0))
    );
    assert_eq!(
        (&edited["description"], &edited["plan_version"]),
        (&json!("Do it well."), &json!(2))
    );
    let read = world.get(&b).await;
    assert_eq!(read.header("etag"), second);
    assert_eq!(read.expect(200), edited);
    let stale = edit(&b, json!({ "title": "Draft b" }), &first).await;
    assert!(stale.problem(412).contains("If-Match"));
    // An empty list removes the lines, and a patch without a difference makes no version.
    let edited = edit(&b, json!({ "acceptance": [] }), &second)
        .await
        .expect(200);
    assert_eq!(
        (&edited["acceptance"], &edited["title"]),
        (&json!([]), &json!("Write b"))
    );
    let third = world.get(&b).await.header("etag").to_owned();
    for patch in [json!({}), json!({ "title": "Write b", "priority": null })] {
        let kept = edit(&b, patch, &third).await;
        assert_eq!(kept.header("etag"), third);
        assert_eq!(kept.expect(200)["plan_version"], 3);
    }
    // A plan that the client has not read makes its tag stale, too.
    let more = json!({ "key": "c", "title": "c", "role": "worker" });
    let plan = json!({ "plan_version": 3, "tasks": [more] });
    world.post(&tasks, plan).await.expect(200);
    edit(&b, json!({ "priority": 1 }), &third)
        .await
        .problem(412);
    edit(&b, json!({ "priority": 1 }), "*").await.expect(200);
    // A task that has begun, and a goal that is over.
    let refused = edit(&a, json!({ "priority": 1 }), "*").await.problem(409);
    assert!(refused.contains("the task `a` is RUNNING;"), "{refused}");
    let goal = tasks.replace("/sessions/", "/goals/");
    let cancel = goal.replace("/tasks", "/cancel");
    world.post(&cancel, json!({})).await.expect(200);
    let refused = edit(&b, json!({ "priority": 2 }), "*").await.problem(409);
    assert!(refused.contains("the goal is failed;"), "{refused}");
}

pub(crate) async fn invalid_edit_of_task_is_refused_with_its_field(world: &World) {
    let (_, [_, b]) = goal_with_waiting_task(world).await;
    let before = world.get(&b).await.expect(200);
    let cases = [
        (json!({ "title": " " }), 422, "title", "it is empty"),
        (
            json!({ "title": "x".repeat(121) }),
            422,
            "title",
            "`title` of `b` has 121 bytes; at most 120 are accepted",
        ),
        (
            json!({ "description": "" }),
            422,
            "description",
            "it is empty",
        ),
        (
            json!({ "description": "x".repeat(16_385) }),
            422,
            "description",
            "at most 16384 are accepted",
        ),
        (
            json!({ "acceptance": ["It is short.", ""] }),
            422,
            "acceptance",
            "it is empty",
        ),
        (
            json!({ "acceptance": vec!["x"; 11] }),
            422,
            "acceptance",
            "has 11 entries; at most 10 are accepted",
        ),
        (
            json!({ "acceptance": ["x".repeat(501)] }),
            422,
            "acceptance",
            "at most 500 are accepted",
        ),
        (
            json!({ "acceptance": "x" }),
            400,
            "acceptance",
            "invalid `acceptance`",
        ),
        (
            json!({ "priority": 10 }),
            422,
            "priority",
            "`priority` of `b` is 10; 0 to 9 are accepted",
        ),
        (
            json!({ "priority": 300 }),
            400,
            "priority",
            "invalid `priority`",
        ),
        (json!({ "role": "judge" }), 400, "role", "unknown field"),
    ];
    for (patch, status, field, says) in cases {
        let sent = world.request_as(&world.admin, "PATCH", &b, Some(&patch), &[]);
        let refused = sent.await;
        let detail = refused.problem(status);
        assert!(detail.contains(says), "{patch}: {detail}");
        assert_eq!(refused.expect(status)["field"], field, "{detail}");
    }
    for body in [Value::Null, json!([]), json!("b")] {
        let sent = world.request_as(&world.admin, "PATCH", &b, Some(&body), &[]);
        let detail = sent.await.problem(400);
        assert!(detail.contains("invalid body"), "{detail}");
    }
    assert_eq!(world.get(&b).await.expect(200), before);
}
