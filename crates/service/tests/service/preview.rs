//! When triggers would fire, worked out without making anything.

use api_types::{PreviewRequest, TriggerRequest};
use service::Kind;

use crate::world::{World, at, cron, every, told};

fn asked(triggers: Vec<TriggerRequest>) -> PreviewRequest {
    PreviewRequest {
        triggers,
        zone: Some("Europe/Prague".into()),
        policies: model::policy::Policies::default().into(),
        count: 5,
    }
}

#[tokio::test]
async fn preview_merges_triggers_in_order_and_marks_quiet_hours() {
    let world = World::new().await;
    let mut request = asked(vec![
        cron("0 9 * * *"),
        at("2026-11-22T09:30"),
        TriggerRequest::Cron {
            expression: "0 12 * * *".into(),
            zone: Some("America/New_York".into()),
        },
        TriggerRequest::Webhook {},
    ]);
    request.policies.quiet_hours = serde_json::from_str(r#"["08:00-09:30"]"#).unwrap();
    let preview = world.service.preview(&request).unwrap();
    let shown: Vec<_> = preview
        .next_fires
        .iter()
        .map(|fire| (&*fire.shown, fire.quiet))
        .collect();
    assert_eq!(
        shown,
        [
            ("Sat 2026-11-21 12:00:00 -05:00 America/New_York", false),
            ("Sun 2026-11-22 09:00:00 +01:00 Europe/Prague", true),
            ("Sun 2026-11-22 09:30:00 +01:00 Europe/Prague", false),
            ("Sun 2026-11-22 12:00:00 -05:00 America/New_York", false),
            ("Mon 2026-11-23 09:00:00 +01:00 Europe/Prague", true),
        ]
    );
    let left = world.automations().await;
    assert!(left.items.is_empty());
}

#[tokio::test]
async fn preview_returns_requested_count_within_bounds() {
    let world = World::new().await;
    for (count, shown) in [(1, 1), (7, 7), (100, 100)] {
        let mut request = asked(vec![every("1h"), every("90m")]);
        request.count = count;
        let preview = world.service.preview(&request).unwrap();
        assert_eq!(preview.next_fires.len(), shown, "{count}");
        let sorted = preview.next_fires.is_sorted_by_key(|fire| fire.at);
        assert!(sorted, "{count}");
    }
    for count in [0, 101] {
        let mut request = asked(vec![every("1h")]);
        request.count = count;
        let refused = world.service.preview(&request).unwrap_err().to_string();
        assert!(refused.contains("accepted are 1 to 100"), "{refused}");
    }
    let once = world.service.preview(&asked(vec![at("2026-11-22T09:30")]));
    assert_eq!(once.unwrap().next_fires.len(), 1);
    let on_demand = world
        .service
        .preview(&asked(vec![TriggerRequest::Webhook {}]));
    assert!(on_demand.unwrap().next_fires.is_empty());
}

#[tokio::test]
async fn preview_of_invalid_trigger_is_refused() {
    let world = World::new().await;
    let nowhere = PreviewRequest {
        zone: Some("Europe/Prage".into()),
        ..asked(vec![cron("0 9 * * *")])
    };
    for (request, says) in [
        (asked(vec![cron("0 0 30 2 *")]), "0 0 30 2 *"),
        (asked(vec![cron("0 25 * * *")]), "hour"),
        (asked(vec![at("2026-11-21T10:00")]), "not after the present"),
        // One that is sound helps no other.
        (asked(vec![every("1h"), cron("x")]), "\"x\""),
        (nowhere, "did you mean Europe/Prague?"),
    ] {
        let refused = world.service.preview(&request).unwrap_err();
        assert_eq!(refused.kind(), Kind::Invalid, "{refused}");
        assert!(told(&refused).contains(says), "{}", told(&refused));
    }
}

#[tokio::test]
async fn preview_without_zone_uses_utc() {
    let world = World::new().await;
    let mut request = asked(vec![cron("30 9 * * *")]);
    request.zone = None;
    let preview = world.service.preview(&request).unwrap();
    assert_eq!(
        preview.next_fires[0].shown,
        "Sat 2026-11-21 09:30:00 +00:00 UTC"
    );
}
