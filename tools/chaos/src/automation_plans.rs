//! The automations of each tenant, with all kinds of schedules, sessions and policies.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The name of the automation that the files of other programs fire, in each tenant.
pub(crate) const FIRED_BY_FILES: &str = "is fired by files";

/// The definition of an automation to create.
pub(crate) struct AutomationPlan {
    pub(crate) name: &'static str,
    pub(crate) agent: &'static str,
    pub(crate) session: &'static str,
    pub(crate) triggers: Value,
    pub(crate) policies: Value,
}

fn automation_plan(
    name: &'static str,
    agent: &'static str,
    session: &'static str,
    triggers: Value,
    policies: Value,
) -> AutomationPlan {
    AutomationPlan {
        name,
        agent,
        session,
        triggers,
        policies,
    }
}

pub(crate) fn every_trigger(seconds: u8) -> Value {
    json!([{ "kind": "every", "period": format!("{seconds}s") }])
}

/// Returns a trigger with a period of at most this number of seconds. The check of the due instants needs one by which a
/// minute can be divided.
fn cron_trigger(seconds: u8) -> Value {
    let periods = (1..=seconds.min(30)).rev();
    let period = periods.into_iter().find(|period| 60 % period == 0);
    let expression = format!("*/{} * * * * *", period.unwrap_or(1));
    json!([{ "kind": "cron", "expression": expression, "zone": "Europe/Prague" }])
}

/// Returns three `at` triggers in the near future.
fn at_triggers(now: Timestamp) -> Value {
    let at = [9, 15, 21].map(|seconds| {
        let at = now.saturating_add(SignedDuration::from_secs(seconds));
        json!({ "kind": "at", "at": at.map(|at| at.to_string()).unwrap_or_default() })
    });
    json!(at)
}

/// Returns the automations of a tenant, whose periods are `slowdown` times as long. A `bound` automation uses the tenant's
/// first session.
pub(crate) fn automation_plans(first: bool, now: Timestamp, slowdown: u8) -> Vec<AutomationPlan> {
    let every = |seconds: u8| every_trigger(seconds * slowdown);
    let cron = |seconds: u8| cron_trigger(seconds * slowdown);
    if !first {
        return vec![
            automation_plan("beats", "quick", "fresh", every(3), json!({})),
            automation_plan("chimes in", "worker", "bound", cron(4), json!({})),
            automation_plan("by hand", "quick", "fresh", json!([]), json!({})),
        ];
    }
    let all = json!({ "overlap": "allow", "catch_up": "all" });
    let none = json!({ "overlap": "skip", "catch_up": "none" });
    let twice = json!({ "retry": { "attempts": 2 } });
    let once = json!({ "on_crash": "fail", "queue_limit": 3 });
    vec![
        automation_plan("skips", "worker", "fresh", every(2), none),
        automation_plan(
            "goes on",
            "worker",
            "continuous",
            cron(3),
            json!({ "queue_limit": 5 }),
        ),
        automation_plan("chimes in", "quick", "bound", cron(5), once),
        automation_plan("clings", "stubborn", "fresh", every(11), all),
        automation_plan("crashes", "crasher", "fresh", every(7), twice),
        automation_plan("refuses", "refuser", "fresh", every(8), json!({})),
        automation_plan(
            "says nothing",
            "silent",
            "fresh",
            every(9),
            json!({ "jitter_seconds": 2 }),
        ),
        automation_plan(
            "is cancelled",
            "long",
            "continuous",
            every(6),
            json!({ "overlap": "cancel_running" }),
        ),
        automation_plan("once each", "quick", "fresh", at_triggers(now), json!({})),
        automation_plan(
            "by hand",
            "quick",
            "continuous",
            json!([]),
            json!({ "queue_limit": 4 }),
        ),
    ]
}

/// Returns the automations of a tenant that are placed on an instance in a folder. A `bound` automation uses the tenant's
/// session there. No slowdown applies to them, because the faults of runtimes need turns to meet.
pub(crate) fn placed_plans(first: bool) -> Vec<AutomationPlan> {
    let all = json!({ "overlap": "allow", "catch_up": "all" });
    let files = automation_plan(FIRED_BY_FILES, "quick", "fresh", json!([]), all.clone());
    if !first {
        return vec![
            files,
            automation_plan("beats there", "quick", "fresh", every_trigger(4), json!({})),
        ];
    }
    let once = json!({ "on_crash": "fail", "queue_limit": 3 });
    vec![
        files,
        automation_plan("beats there", "quick", "fresh", every_trigger(3), all),
        automation_plan(
            "goes on there",
            "worker",
            "continuous",
            cron_trigger(4),
            json!({ "queue_limit": 5 }),
        ),
        automation_plan("chimes in there", "worker", "bound", cron_trigger(5), once),
        automation_plan(
            "clings there",
            "stubborn",
            "fresh",
            every_trigger(13),
            json!({}),
        ),
        // The checks of requests and files expect that each of them has its turn, however long it waits.
        automation_plan(
            "by hand there",
            "quick",
            "continuous",
            json!([]),
            json!({ "queue_limit": 10_000 }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn period_of_cron_trigger_divides_minute() {
        let expression = |seconds| cron_trigger(seconds)[0]["expression"].clone();
        assert_eq!(expression(5), "*/5 * * * * *");
        assert_eq!(expression(24), "*/20 * * * * *");
        assert_eq!(expression(50), "*/30 * * * * *");
    }
}
