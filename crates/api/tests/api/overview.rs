//! The overview and the timeline.

use std::time::Duration;

use model::{
    AcpSessionId, Clock as _, InstanceId, RunId, WorkerId,
    outcome::{FailureKind, Outcome, RunFailure, StopReason},
    turn::{StartReply, TurnResult, WriteOutcome},
};
use serde_json::{Value, json};
use store::{Scope, database::Statement, params};
use uuid::Uuid;

use crate::world::World;

fn succeeded() -> Outcome {
    Outcome::Stopped(StopReason::EndTurn)
}

fn failed() -> Outcome {
    Outcome::Failed(RunFailure {
        kind: FailureKind::SignIn,
        prompted: false,
        message: "not signed in".into(),
    })
}

impl World {
    /// Fires an automation, and ends its turn.
    async fn fire_and_end(&self, automation: &str, outcome: Outcome) -> RunId {
        let run = self.begin_turn(automation).await;
        let now = self.clock.advance(Duration::from_secs(1));
        let result = TurnResult {
            answer: "Done.".into(),
            acp_session_id: Some(AcpSessionId::new("memory")),
            turn_ended: true,
            ..TurnResult::with_outcome(outcome)
        };
        let worker = WorkerId::from_stored("host-1-aaaaaaaa".into());
        let finished = self.store.finish(run, &worker, &result, now);
        assert_eq!(finished.await.unwrap(), WriteOutcome::Committed);
        run
    }

    /// Makes an automation that runs each day at nine in Prague, and does not retry.
    async fn daily(&self, name: &str) {
        let request = json!({
            "name": name, "prompt": "Look.", "agent": "good", "zone": "Europe/Prague",
            "triggers": [{ "kind": "cron", "expression": "0 9 * * *" }],
            "policies": { "retry": { "attempts": 1 } },
        });
        self.post("/automations", request).await.expect(201);
    }

    async fn overview(&self, query: &str) -> Value {
        self.get(&format!("/overview{query}")).await.expect(200)
    }
}

pub(crate) async fn overview_of_new_tenant_is_empty(world: &World) {
    let overview = world.overview("").await;
    assert_eq!(overview["now"], "2026-11-21T09:00:00Z");
    assert_eq!(overview["since"], "2026-11-20T09:00:00Z");
    for (name, count) in overview["counts"].as_object().unwrap() {
        assert_eq!(count, 0, "{name}");
    }
    let nothing = json!({
        "approvals": [], "questions": [], "goals": [], "failures": [], "automations": [], "cut": false,
    });
    assert_eq!(overview["needs"], nothing);
    assert_eq!(overview["running"], json!([]));
    assert_eq!(overview["next_runs"], json!([]));
    assert_eq!(overview["spenders"], json!([]));
    assert_eq!(overview["has_server"], false);
    assert_eq!(overview["usage"]["day"]["turns"], 0);
}

pub(crate) async fn overview_tells_what_ran_failed_waits_and_comes_next(world: &World) {
    for name in ["standup", "deploy", "tidy"] {
        world.daily(name).await;
    }
    world.fire_and_end("standup", failed()).await;
    world.fire_and_end("standup", succeeded()).await;
    world.fire_and_end("deploy", failed()).await;
    let last_failure = world.fire_and_end("deploy", failed()).await;
    let running = world.begin_turn("tidy").await;
    let approval = world.request_approval(running, "git push").await;
    world
        .post("/automations/standup/pause", json!({}))
        .await
        .expect(200);

    let overview = world.overview("").await;
    let counts = &overview["counts"];
    assert_eq!(
        (&counts["succeeded"], &counts["failed"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(
        (&counts["running"], &counts["queued"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(overview["counts_cut"], false);

    let needs = &overview["needs"];
    assert_eq!(needs["approvals"][0]["id"], approval.as_str());
    assert_eq!(needs["approvals"][0]["automation_name"], "tidy");
    let [deploy, standup] = needs["failures"].as_array().unwrap().as_slice() else {
        panic!("{needs}");
    };
    assert_eq!(deploy["automation_name"], "deploy");
    assert_eq!(
        (&deploy["status"], &deploy["reason"]),
        (&json!("failed"), &json!("sign_in"))
    );
    assert_eq!(
        (&deploy["count"], &deploy["recovered"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(deploy["last"]["run_id"], last_failure.to_string().as_str());
    assert_eq!(standup["automation_name"], "standup");
    assert_eq!(
        (&standup["count"], &standup["recovered"]),
        (&json!(1), &json!(true))
    );
    // A pause by a person needs nobody.
    assert_eq!(needs["automations"], json!([]));

    assert_eq!(overview["running"][0]["id"], running.to_string().as_str());
    assert_eq!(overview["running"][0]["automation_name"], "tidy");
    let next = overview["next_runs"].as_array().unwrap();
    let names: Vec<_> = next
        .iter()
        .map(|run| run["automation_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["deploy", "tidy"],
        "a paused automation has no next run"
    );
    assert_eq!(
        next[0]["display"],
        "Sun 2026-11-22 09:00:00 +01:00 Europe/Prague"
    );
    assert_eq!(overview["usage"]["day"]["turns"], 5);
    assert_eq!(
        overview["reported"],
        json!({ "runs": 4, "with_tokens": 0, "with_cost": 0 })
    );
    assert_eq!(overview["reported_in_month"], overview["reported"]);

    // Nothing of what ended before the period counts.
    world.clock.advance(Duration::from_hours(2));
    let later = world.overview("?since=2026-11-21T10:30:00Z").await;
    assert_eq!(later["counts"]["failed"], 0);
    assert_eq!(later["counts"]["running"], 1);
    // A failure of the last day needs a person also after the person has looked.
    assert_eq!(later["needs"]["failures"].as_array().unwrap().len(), 2);
    assert_eq!(
        later["reported"]["runs"], 4,
        "the usage of today does not depend on the period"
    );
    world.clock.advance(Duration::from_hours(24));
    let next_day = world.overview("").await;
    assert_eq!(next_day["needs"]["failures"], json!([]));
    assert_eq!(next_day["reported"]["runs"], 0);
}

pub(crate) async fn overview_names_automations_that_paused_themselves(world: &World) {
    world.daily("digest").await;
    for _ in 0..5 {
        world.fire_and_end("digest", failed()).await;
    }
    let shown = world.get("/automations/digest").await.expect(200);
    assert_eq!(shown["state"], "paused", "{shown}");
    let overview = world.overview("").await;
    let needs = overview["needs"]["automations"].as_array().unwrap();
    assert_eq!(needs[0]["name"], "digest");
    assert_eq!(needs[0]["pause_reason"], "failures");
    assert!(needs[0]["attention"].is_string());
}

pub(crate) async fn timeline_has_lane_for_each_automation_and_one_for_conversations(world: &World) {
    for name in ["standup", "deploy"] {
        world.daily(name).await;
    }
    world.automation("on-demand").await;
    let done = world.fire_and_end("standup", succeeded()).await;
    let broken = world.fire_and_end("deploy", failed()).await;
    let session = world.session().await;
    let sent = json!({ "text": "Hello" });
    world
        .post(&format!("/sessions/{session}/messages"), sent)
        .await
        .expect(202);
    world.take_turns(&session).await;
    world
        .post("/automations/standup/pause", json!({}))
        .await
        .expect(200);

    let timeline = world.get("/timeline").await.expect(200);
    assert_eq!(timeline["to"], "2026-11-22T09:00:02Z");
    let lanes = timeline["lanes"].as_array().unwrap();
    let names: Vec<_> = lanes
        .iter()
        .map(|lane| lane["automation_name"].as_str())
        .collect();
    assert_eq!(
        names,
        [Some("deploy"), Some("standup"), None],
        "the failure comes first"
    );
    assert_eq!(lanes[0]["runs"][0]["run_id"], broken.to_string().as_str());
    assert_eq!(lanes[0]["upcoming"][0]["at"], "2026-11-22T08:00:00Z");
    assert_eq!(lanes[1]["runs"][0]["run_id"], done.to_string().as_str());
    // A paused automation has the runs that it would have.
    assert_eq!(lanes[1]["state"], "paused");
    assert_eq!(lanes[1]["upcoming"].as_array().unwrap().len(), 1);
    assert_eq!(lanes[2]["runs"].as_array().unwrap().len(), 1);
    assert_eq!(lanes[2]["upcoming"], json!([]));
    assert_eq!(
        (&timeline["lanes_cut"], &timeline["runs_cut"]),
        (&json!(false), &json!(false))
    );

    let one = world.get("/timeline?lanes=1").await.expect(200);
    assert_eq!(one["lanes"].as_array().unwrap().len(), 1);
    assert_eq!(one["lanes_cut"], true);
    let of_one = world
        .get("/timeline?automation=on-demand")
        .await
        .expect(200);
    assert_eq!(of_one["lanes"][0]["automation_name"], "on-demand");
    let past = "/timeline?from=2026-11-20T00:00:00Z&to=2026-11-20T01:00:00Z";
    assert_eq!(world.get(past).await.expect(200)["lanes"], json!([]));
}

pub(crate) async fn overview_and_timeline_refuse_periods_out_of_range(world: &World) {
    for (path, field, value) in [
        (
            "/overview?since=2026-11-21T09:00:01Z",
            "since",
            "2026-11-21T09:00:01Z",
        ),
        (
            "/overview?since=2026-10-21T08:59:59Z",
            "since",
            "2026-10-21T08:59:59Z",
        ),
        ("/overview?since=yesterday", "since", "yesterday"),
        (
            "/timeline?from=2026-11-22T09:00:00Z",
            "from",
            "2026-11-22T09:00:00Z",
        ),
        (
            "/timeline?to=2026-11-19T09:00:00Z",
            "to",
            "2026-11-19T09:00:00Z",
        ),
        ("/timeline?lanes=0", "lanes", "0"),
        ("/timeline?lanes=201", "lanes", "201"),
    ] {
        let refused = world.get(path).await;
        let status = refused.json()["status"].as_u64().unwrap();
        assert!([400, 422].contains(&status), "{path}: {status}");
        assert_eq!(refused.json()["field"], field, "{path}");
        assert!(
            refused.json()["detail"].as_str().unwrap().contains(value),
            "{path}"
        );
    }
}

pub(crate) async fn overview_names_goals_that_wait_for_person(world: &World) {
    let goal = |title: &str| json!({ "goal": "Draft it.", "agent": "good", "title": title });
    let paused = world.post("/goals", goal("Paused")).await.expect(201);
    let path = format!("/goals/{}/pause", paused["id"].as_str().unwrap());
    world.post(&path, json!({})).await.expect(200);
    let stuck = world.post("/goals", goal("Stuck")).await.expect(201);
    let sql = "update goals set state = 'paused', reason = 'stuck', cause = 'no plan' where state = 'active'";
    let statement: &'static Statement =
        Box::leak(Box::new(Statement::new("a test's statement", sql, sql)));
    let mut tx = world.store.database().begin(Scope::System).await.unwrap();
    tx.execute(statement, params![]).await.unwrap();
    tx.commit().await.unwrap();
    let overview = world.overview("").await;
    let waiting = json!([{
        "id": stuck["id"], "title": "Stuck", "goal": "Draft it.", "reason": "stuck", "cause": "no plan",
        "updated_at": stuck["updated_at"],
    }]);
    // A pause by a person needs nobody.
    assert_eq!(overview["needs"]["goals"], waiting);
    assert_eq!(overview["needs"]["cut"], false);
}

pub(crate) async fn overview_and_goal_have_usage_of_turn(world: &World) {
    let request = json!({ "goal": "Draft it.", "agent": "good", "title": "Campaign" });
    let goal = world.post("/goals", request).await.expect(201);
    let worker = WorkerId::from_stored("host-1-aaaaaaaa".into());
    let (here, now) = (InstanceId::from_uuid(Uuid::from_u128(1)), world.clock.now());
    let registered = world
        .store
        .register_instance(world.tenant, here, "here", now);
    registered.await.unwrap();
    let claimed = world.store.claim(&worker, here, 1, None, now).await;
    let run = claimed.unwrap()[0].run;
    let begun = world.store.begin(run, &worker, here, now, None).await;
    assert!(matches!(begun.unwrap(), StartReply::Started(_)));
    let usage = json!({ "spent": { "tokens": 7, "cost": { "USD": 1_500_000 } } });
    let recorded = world.store.record_usage(run, &worker, &usage, now);
    assert!(recorded.await.unwrap().is_some());

    let cost = json!({ "amount": "1.5", "currency": "USD" });
    let overview = world.overview("").await;
    let spender = json!({
        "automation_id": null, "automation_name": null, "goal_id": goal["id"], "goal_title": "Campaign",
        "cost": cost, "tokens": 7, "turns": 1,
    });
    assert_eq!(overview["spenders"], json!([spender]));
    let path = format!("/goals/{}", goal["id"].as_str().unwrap());
    let read = world.get(&path).await.expect(200);
    let [planner, worker, ..] = read["seats"].as_array().unwrap().as_slice() else {
        panic!("{read}");
    };
    let used = json!({ "tokens": 7, "cost": [cost], "unreported_runs": 0, "runs_without_cost": 0 });
    assert_eq!((&planner["turns"], &planner["usage"]), (&json!(1), &used));
    assert_eq!(read["usage"], used);
    let unused =
        json!({ "tokens": null, "cost": [], "unreported_runs": 0, "runs_without_cost": 0 });
    assert_eq!((&worker["turns"], &worker["usage"]), (&json!(0), &unused));
}

/// Adds failed runs of other inputs, which equal the given one, but for their origin: an occurrence is unique.
async fn copy_failed_run(world: &World, run: RunId, copies: u128) {
    let sql = "insert into agent_runs (id, tenant_id, input_id, attempt, failures, status, origin, priority, \
                   session_id, seat_id, automation_id, exclusive, content, instance_id, worker_id, claimed_at, \
                   started_at, ended_at, reason, message, input_at, created_at) \
               select $1, tenant_id, $2, attempt, failures, status, 'person', priority, \
                   session_id, seat_id, automation_id, exclusive, content, instance_id, worker_id, claimed_at, \
                   started_at, ended_at, reason, message, input_at, created_at \
               from agent_runs where id = $3";
    let statement: &'static Statement =
        Box::leak(Box::new(Statement::new("a test's statement", sql, sql)));
    let mut tx = world.store.database().begin(Scope::System).await.unwrap();
    for number in 1..=copies {
        let id = Uuid::from_u128(run.uuid().as_u128() + number);
        let params = params![id, Uuid::from_u128(number), run];
        tx.execute(statement, params).await.unwrap();
    }
    tx.commit().await.unwrap();
}

pub(crate) async fn overview_with_many_failures_has_whole_counts(world: &World) {
    world.daily("standup").await;
    let run = world.fire_and_end("standup", failed()).await;
    // More than the overview reads to group them.
    copy_failed_run(world, run, 500).await;
    let overview = world.overview("").await;
    assert_eq!(overview["counts"]["failed"], 501);
    assert_eq!(overview["counts_cut"], false);
    let needs = &overview["needs"];
    assert_eq!(needs["failures"][0]["count"], 500);
    assert_eq!(needs["cut"], true);
}
