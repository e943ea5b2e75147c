//! Sessions with several seats.

use serde_json::{Value, json};

use crate::world::World;

fn team() -> Value {
    json!({
        "kind": "background",
        "seats": [
            { "role": "planner", "agent": "good", "instructions": "Split the work." },
            { "role": "worker", "agent": "good", "count": 2, "directory": "own" },
        ],
    })
}

pub(crate) async fn session_shows_its_seats(world: &World) {
    let made = world.post("/sessions", team()).await.expect(201);
    assert_eq!(made["kind"], "background");
    let session = made["id"].as_str().unwrap();
    let worker = json!({ "text": "Go", "seat": "worker-2" });
    let messages = format!("/sessions/{session}/messages");
    let run = world.post(&messages, worker).await.expect(202);

    let shown = world.get(&format!("/sessions/{session}")).await.expect(200);
    let seats = shown["seats"].as_array().unwrap();
    let fields = |seat: &Value| {
        let names = [
            "name",
            "role",
            "agent",
            "is_entry",
            "is_busy",
            "directory",
            "instance",
        ];
        names.map(|name| seat[name].clone()).to_vec()
    };
    let expected = [
        json!(["planner", "planner", "good", true, false, "shared", null]),
        json!(["worker-1", "worker", "good", false, false, "own", null]),
        json!(["worker-2", "worker", "good", false, true, "own", null]),
    ];
    let found: Vec<Value> = seats.iter().map(|seat| json!(fields(seat))).collect();
    assert_eq!(found, expected);
    assert_eq!(seats[0]["instructions"], "Split the work.");
    assert_eq!(run["seat_id"], seats[2]["id"]);

    // A name and an ID find a seat, and a run names its seat.
    let by_name = format!("/sessions/{session}/seats/worker-1");
    let by_name = world.get(&by_name).await.expect(200);
    assert_eq!(by_name["id"], seats[1]["id"]);
    let by_id = json!({ "text": "Go", "seat": seats[1]["id"] });
    let other = world.post(&messages, by_id).await.expect(202);
    assert_eq!(other["seat_id"], seats[1]["id"]);
    let run = format!("/runs/{}", run["id"].as_str().unwrap());
    assert_eq!(world.get(&run).await.expect(200)["seat_name"], "worker-2");
    let plan = world.post(&messages, json!({ "text": "Plan" })).await;
    assert_eq!(plan.expect(202)["seat_id"], seats[0]["id"]);
    let unknown = json!({ "text": "Go", "seat": "worker-3" });
    let unknown = world.post(&messages, unknown).await;
    assert!(
        unknown
            .problem(404)
            .contains("accepted are planner, worker-1, worker-2")
    );

    // The only seat of a session needs no name.
    let messages = format!("/sessions/{}/messages", world.session().await);
    let hello = json!({ "text": "Hello", "seat": "agent" });
    let run = world.post(&messages, hello).await.expect(202);
    let run = format!("/runs/{}", run["id"].as_str().unwrap());
    assert_eq!(world.get(&run).await.expect(200)["seat_name"], Value::Null);
}

pub(crate) async fn invalid_seat_creates_no_session(world: &World) {
    let worker = |more: Value| {
        let mut seat = json!({ "role": "worker", "agent": "good" });
        let more = more.as_object().unwrap().clone();
        seat.as_object_mut().unwrap().extend(more);
        seat
    };
    let seats = |seats: Value| json!({ "seats": seats });
    let cases = [
        (seats(json!([])), 422, "seats"),
        (json!({ "kind": "background" }), 422, "seats"),
        (
            json!({ "kind": "background", "agent": "good" }),
            422,
            "kind",
        ),
        (
            json!({ "kind": "automation", "agent": "good" }),
            422,
            "kind",
        ),
        (
            json!({ "kind": "interactive", "seats": [worker(json!({}))] }),
            422,
            "kind",
        ),
        (
            json!({ "agent": "good", "seats": [worker(json!({}))] }),
            422,
            "agent",
        ),
        (
            json!({ "settings": { "mode": "plan" }, "seats": [worker(json!({}))] }),
            422,
            "settings",
        ),
        (
            seats(json!([
                worker(json!({})),
                worker(json!({ "agent": "goood" }))
            ])),
            404,
            "seats[1].agent",
        ),
        (
            seats(json!([worker(json!({ "role": "The boss" }))])),
            422,
            "seats[0].role",
        ),
        (
            seats(json!([worker(json!({ "count": 17 }))])),
            422,
            "seats[0].count",
        ),
        (
            seats(json!([
                worker(json!({ "count": 9 })),
                worker(json!({ "count": 8 }))
            ])),
            422,
            "seats",
        ),
        (
            seats(json!([
                worker(json!({ "name": "a" })),
                worker(json!({ "name": "a" }))
            ])),
            422,
            "seats[1].name",
        ),
        (
            seats(json!([
                worker(json!({ "entry": true })),
                worker(json!({ "entry": true }))
            ])),
            422,
            "seats[1].entry",
        ),
    ];
    for (body, status, field) in cases {
        let answer = world.post("/sessions", body.clone()).await;
        answer.problem(status);
        let problem: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(problem["field"], field, "{body}: {}", answer.text);
    }
    let unknown = seats(json!([worker(json!({ "directory": "mine" }))]));
    let answer = world.post("/sessions", unknown).await;
    assert!(answer.problem(400).contains("directory"));
    let all = world.get("/sessions").await.expect(200);
    assert_eq!(all["items"], json!([]));
}
