//! Budgets and usage.

use model::{
    AcpSessionId, Clock as _, InstanceId, RunId, WorkerId,
    access::Role,
    outcome::{Outcome, StopReason},
    turn::{StartReply, TurnResult, WriteOutcome},
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::World;

fn worker() -> WorkerId {
    WorkerId::from_stored("host-1-aaaaaaaa".into())
}

impl World {
    /// Fires an automation and begins its turn, where it may.
    async fn fire_and_begin(&self, automation: &str) -> (RunId, StartReply) {
        let path = format!("/automations/{automation}/fire");
        let fired = self.post(&path, json!({})).await.expect(202);
        let run = fired["id"].as_str().unwrap().parse().unwrap();
        let worker = worker();
        let (here, now) = (InstanceId::from_uuid(Uuid::from_u128(5)), self.clock.now());
        let registered = self.store.register_instance(self.tenant, here, "here", now);
        registered.await.unwrap();
        let claimed = self.store.claim(&worker, here, 1, Some(run), now).await;
        assert_eq!(claimed.unwrap().len(), 1);
        let begun = self
            .store
            .begin(run, &worker, here, now, None)
            .await
            .unwrap();
        (run, begun)
    }

    /// Fires an automation and takes a turn that uses so much.
    async fn turn_using(&self, automation: &str, tokens: u64, micros: u64) {
        let (run, begun) = self.fire_and_begin(automation).await;
        assert!(matches!(begun, StartReply::Started(_)));
        let finished = TurnResult {
            answer: "Done.".into(),
            acp_session_id: Some(AcpSessionId::new("memory")),
            turn_ended: true,
            usage: Some(json!({
                "used": tokens, "size": 1000, "spent": { "tokens": tokens, "cost": { "USD": micros } },
            })),
            ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
        };
        let settled = self
            .store
            .finish(run, &worker(), &finished, self.clock.now())
            .await;
        assert_eq!(settled.unwrap(), WriteOutcome::Committed);
    }
}

pub(crate) async fn exhausted_budget_pauses_automation_and_blocks_run(world: &World) {
    let cost = json!({ "amount": "20.5", "currency": "USD" });
    let asked = json!({
        "name": "daily", "prompt": "Look.", "agent": "good",
        "policies": { "budget": {
            "day": { "tokens": 100, "minutes": 90 },
            "month": { "cost": { "amount": "20.5", "currency": "usd" } },
        } },
    });
    let made = world.post("/automations", asked).await.expect(201);
    let budget = json!({
        "run": { "tokens": null, "cost": null },
        "day": { "tokens": 100, "cost": null, "turns": null, "minutes": 90 },
        "month": { "tokens": null, "cost": cost, "turns": null, "minutes": null },
    });
    assert_eq!(made["policies"]["budget"], budget);
    let unused = world.get("/automations/daily/usage").await.expect(200);
    assert_eq!(unused["budget"], budget);
    assert_eq!(
        unused["day"],
        json!({
            "since": "2026-11-21T00:00:00Z", "until": "2026-11-22T00:00:00Z",
            "tokens": 0, "cost": [], "turns": 0, "minutes": 0,
        })
    );
    world.turn_using("daily", 100, 1_250_000).await;
    let used = world.get("/automations/daily/usage").await.expect(200);
    assert_eq!(
        used["month"],
        json!({
            "since": "2026-11-01T00:00:00Z", "until": "2026-12-01T00:00:00Z",
            "tokens": 100, "cost": [{ "amount": "1.25", "currency": "USD" }], "turns": 1, "minutes": 0,
        })
    );
    let paused = world.get("/automations/daily").await.expect(200);
    assert_eq!(
        (&paused["state"], &paused["pause_reason"]),
        (&json!("paused"), &json!("budget"))
    );
    let (run, begun) = world.fire_and_begin("daily").await;
    assert!(matches!(begun, StartReply::Deferred));
    let held = world.get(&format!("/runs/{run}")).await.expect(200);
    let until = "2026-11-22T00:00:00Z";
    let reason = format!("the automation's budget of 100 tokens a day is used up until {until}");
    let waiting = json!({ "for": "budget", "until": until, "reason": reason });
    assert_eq!(held["blocked_on"], waiting);
    let own = format!("/tenants/{}/usage", world.tenant);
    let all = world.get(&own).await.expect(200);
    assert_eq!(all["day"]["tokens"], 100);
    assert_eq!(all["budget"]["day"]["tokens"], Value::Null);
}

pub(crate) async fn invalid_budget_is_refused_with_field(world: &World) {
    let ask = async |budget: Value| {
        let asked = json!({
            "name": "daily", "prompt": "Look.", "agent": "good", "policies": { "budget": budget },
        });
        let made = world.post("/automations", asked).await;
        let tenant = format!("/tenants/{}/budget", world.tenant);
        let set = world.request_as(&world.admin, "PUT", &tenant, Some(&budget), &[]);
        let (made, set) = (made, set.await);
        // A malformed value gets 400, and an invalid one gets 422.
        let status = |answer: &crate::world::Answer| answer.status;
        assert_eq!(status(&made), status(&set), "{made:?} {set:?}");
        let status = if made.status == 400 { 400 } else { 422 };
        (made.problem(status), set.problem(status))
    };
    for (budget, detail) in [
        (
            json!({ "day": { "tokens": 0 } }),
            "`budget.day.tokens` cannot be `0`: expected 1 to",
        ),
        (
            json!({ "month": { "turns": 0 } }),
            "`budget.month.turns` cannot be `0`: expected 1 to",
        ),
        (
            json!({ "run": { "cost": { "amount": "0", "currency": "USD" } } }),
            "`budget.run.cost` cannot be `0 USD`: expected at least",
        ),
        (json!({ "run": { "turns": 1 } }), "turns"),
        (
            json!({ "run": { "cost": { "amount": "-1", "currency": "USD" } } }),
            "invalid amount `-1`",
        ),
        (
            json!({ "run": { "cost": { "amount": "1", "currency": "U$" } } }),
            "invalid currency `U$`",
        ),
        (
            json!({ "day": { "cost": { "amount": "3", "currency": "runs" } } }),
            "`budget.day.cost` cannot be `3 runs`: expected a currency of ISO 4217",
        ),
        (
            json!({ "day": { "minutes": 0 } }),
            "`budget.day.minutes` cannot be `0`: expected 1 to",
        ),
        (json!({ "run": { "minutes": 1 } }), "minutes"),
    ] {
        let (made, set) = ask(budget).await;
        assert!(made.contains(detail), "{made}");
        assert!(set.contains(detail), "{set}");
    }
}

pub(crate) async fn tenant_budget_requires_install_admin(world: &World) {
    let foreign = world.other_tenant("other").await;
    let viewer = world.token(Role::Viewer, None).await;
    let member = world.token(Role::Member, None).await;
    let budget = json!({ "day": { "turns": 3 } });
    let put = async |token: &str, tenant: &str| {
        let path = format!("/tenants/{tenant}/budget");
        world
            .request_as(token, "PUT", &path, Some(&budget), &[])
            .await
    };
    for nobody in [&viewer, &member, &foreign] {
        let tenant = if nobody == &foreign {
            "other"
        } else {
            "default"
        };
        put(nobody, tenant).await.problem(403);
    }
    let set = put(&world.admin, "other").await.expect(200);
    assert_eq!(set["budget"]["day"]["turns"], 3);
    // Whose it is may look at it.
    let path = "/tenants/other/usage";
    let seen = world.request_as(&foreign, "GET", path, None, &[]).await;
    assert_eq!(seen.expect(200)["budget"]["day"]["turns"], 3);
    let own = world.get(&format!("/tenants/{}", world.tenant)).await;
    assert_eq!(own.expect(200)["budget"]["day"]["turns"], Value::Null);
}

pub(crate) async fn tenant_budget_with_stale_etag_is_refused(world: &World) {
    let tenant = format!("/tenants/{}", world.tenant);
    let path = format!("{tenant}/budget");
    let put = async |turns: u32, tag: Option<&str>| {
        let budget = json!({ "day": { "turns": turns } });
        let headers: Vec<_> = tag.map(|tag| ("if-match", tag)).into_iter().collect();
        world
            .request_as(&world.admin, "PUT", &path, Some(&budget), &headers)
            .await
    };
    let seen = world.get(&tenant).await.header("etag").to_owned();
    let set = put(3, Some(&seen)).await;
    assert_eq!(set.expect(200)["budget"]["day"]["turns"], 3);
    assert_ne!(set.header("etag"), seen);
    put(4, Some(&seen)).await.problem(412);
    let now = world.get(&tenant).await;
    assert_eq!(now.header("etag"), set.header("etag"));
    assert_eq!(now.expect(200)["budget"]["day"]["turns"], 3);
    // Of two that have seen the same one wins.
    let tag = now.header("etag");
    let (one, other) = tokio::join!(put(5, Some(tag)), put(6, Some(tag)));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412], "{} {}", one.text, other.text);
    // Without `If-Match` the budget is replaced unconditionally.
    let set = put(7, None).await.expect(200);
    assert_eq!(set["budget"]["day"]["turns"], 7);
}
