//! Previews of the next runs of triggers, which store nothing.

use api_types::{PreviewRequest, TriggerRequest};
use service::ErrorKind;

use crate::world::{World, at, cron, error_chain, every};

fn preview_request(triggers: Vec<TriggerRequest>) -> PreviewRequest {
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
    let mut request = preview_request(vec![
        cron("0 9 * * *"),
        at("2026-11-22T09:30"),
        TriggerRequest::Cron {
            expression: "0 12 * * *".into(),
            zone: Some("America/New_York".into()),
        },
        TriggerRequest::Webhook {},
    ]);
    request.policies.quiet_hours = serde_json::from_str(r#"["08:00-09:30"]"#).unwrap();
    let preview = world.service.preview_runs(&request).unwrap();
    let shown: Vec<_> = preview
        .upcoming_runs
        .iter()
        .map(|fire| (&*fire.display, fire.in_quiet_hours))
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
        let mut request = preview_request(vec![every("1h"), every("90m")]);
        request.count = count;
        let preview = world.service.preview_runs(&request).unwrap();
        assert_eq!(preview.upcoming_runs.len(), shown, "{count}");
        let sorted = preview.upcoming_runs.is_sorted_by_key(|fire| fire.at);
        assert!(sorted, "{count}");
    }
    for count in [0, 101] {
        let mut request = preview_request(vec![every("1h")]);
        request.count = count;
        let refused = world
            .service
            .preview_runs(&request)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("accepted are 1 to 100"), "{refused}");
    }
    let once = world
        .service
        .preview_runs(&preview_request(vec![at("2026-11-22T09:30")]));
    assert_eq!(once.unwrap().upcoming_runs.len(), 1);
    let on_demand = world.service.preview_runs(&PreviewRequest {
        zone: None,
        ..preview_request(vec![TriggerRequest::Webhook {}])
    });
    assert!(on_demand.unwrap().upcoming_runs.is_empty());
}

#[tokio::test]
async fn preview_of_invalid_trigger_is_refused() {
    let world = World::new().await;
    let nowhere = PreviewRequest {
        zone: Some("Europe/Prage".into()),
        ..preview_request(vec![cron("0 9 * * *")])
    };
    for (request, says) in [
        (preview_request(vec![cron("0 0 30 2 *")]), "0 0 30 2 *"),
        (preview_request(vec![cron("0 25 * * *")]), "hour"),
        (
            preview_request(vec![at("2026-11-21T10:00")]),
            "not after the present",
        ),
        // A valid trigger does not hide an invalid one.
        (preview_request(vec![every("1h"), cron("x")]), "`x`"),
        (nowhere, "did you mean Europe/Prague?"),
        (
            preview_request(vec![TriggerRequest::Webhook {}]),
            "no trigger has a time zone",
        ),
    ] {
        let refused = world.service.preview_runs(&request).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        assert!(
            error_chain(&refused).contains(says),
            "{}",
            error_chain(&refused)
        );
    }
}

#[tokio::test]
async fn preview_without_zone_uses_utc() {
    let world = World::new().await;
    let mut request = preview_request(vec![cron("30 9 * * *")]);
    request.zone = None;
    let preview = world.service.preview_runs(&request).unwrap();
    assert_eq!(
        preview.upcoming_runs[0].display,
        "Sat 2026-11-21 09:30:00 +00:00 UTC"
    );
}
