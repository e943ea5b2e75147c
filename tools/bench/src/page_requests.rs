//! The requests of the web page that [`page`](super::page) measures, with the aim of each.

use std::time::Duration;

use anyhow::Result;
use api_types::RunFilterRequest;
use client::{
    ApprovalFilter, ApprovalStates, AutomationFilter, Client, PageParams, RunFilter, SessionFilter,
    TimelineFilter,
};
use model::{
    RunId, Timestamp,
    run::{Origin, RunStatus},
    session::SessionType,
};

use super::month::Month;

/// The number of items on a page of a list.
pub(crate) const PAGE_ITEMS: u32 = 100;

const OVERVIEW_AIM: Duration = Duration::from_millis(50);
const TIMELINE_AIM: Duration = Duration::from_millis(100);
const LIST_AIM: Duration = Duration::from_millis(20);

/// A request of the page.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) name: &'static str,
    /// The longest 99th percentile that is accepted for one client alone.
    pub(crate) aim: Duration,
    pub(crate) operation: Operation,
}

/// An operation of the API, with its parameters.
#[derive(Clone)]
pub(crate) enum Operation {
    Overview(Timestamp),
    Timeline(TimelineFilter),
    Automations(AutomationFilter),
    Runs(RunFilter),
    Sessions(SessionFilter),
    Approvals(ApprovalFilter),
}

impl Operation {
    /// Sends the request, and returns the number of found items.
    pub(crate) async fn send(&self, client: &Client) -> Result<usize> {
        Ok(match self {
            Self::Overview(since) => {
                let counts = client.overview(Some(*since)).await?.counts;
                usize::try_from(counts.succeeded)?
            }
            Self::Timeline(filter) => client.timeline(filter).await?.lanes.len(),
            Self::Automations(filter) => client.automations(filter).await?.items.len(),
            Self::Runs(filter) => client.runs(filter).await?.items.len(),
            Self::Sessions(filter) => client.sessions(filter).await?.items.len(),
            Self::Approvals(filter) => client.approvals(filter).await?.items.len(),
        })
    }
}

/// Returns the requests of the page.
#[expect(clippy::too_many_lines, reason = "a table, one entry for each request")]
pub(crate) fn requests(month: &Month) -> Vec<Request> {
    let before = |hours| month.end.saturating_sub(Duration::from_hours(hours));
    let page = || PageParams::first(PAGE_ITEMS);
    let overview = |name, hours| Request {
        name,
        aim: OVERVIEW_AIM,
        operation: Operation::Overview(before(hours)),
    };
    let timeline = |name, hours, lanes| Request {
        name,
        aim: TIMELINE_AIM,
        operation: Operation::Timeline(TimelineFilter {
            from: Some(before(hours)),
            lanes: Some(lanes),
            ..TimelineFilter::default()
        }),
    };
    let list = |name, operation| Request {
        name,
        aim: LIST_AIM,
        operation,
    };
    let automations = |name, text: Option<&str>| {
        list(
            name,
            Operation::Automations(AutomationFilter {
                text: text.map(str::to_owned),
                page: page(),
                ..AutomationFilter::default()
            }),
        )
    };
    let runs = |name, filter| {
        let filter = RunFilter {
            page: page(),
            ..filter
        };
        list(name, Operation::Runs(filter))
    };
    let any = RunFilter::default;
    let sessions = |name, filter| {
        let filter = SessionFilter {
            page: page(),
            ..filter
        };
        list(name, Operation::Sessions(filter))
    };
    let approvals = |name, states| {
        list(
            name,
            Operation::Approvals(ApprovalFilter {
                states,
                page: page(),
                ..ApprovalFilter::default()
            }),
        )
    };
    let middle = PageParams {
        after: Some(RunId::first_at(before(15 * 24)).to_string()),
        limit: Some(PAGE_ITEMS),
    };
    vec![
        overview("overview since a day", 24),
        overview("overview since a night", 12),
        overview("overview since a week", 7 * 24),
        timeline("timeline from a day ago, 8 lanes", 24, 8),
        timeline("timeline from a week ago, 20 lanes", 7 * 24, 20),
        automations("automations", None),
        automations("automations with a name", Some("review")),
        runs("runs", any()),
        list(
            "runs, a page of the middle",
            Operation::Runs(RunFilter {
                page: middle,
                ..any()
            }),
        ),
        runs(
            "runs that failed or stalled",
            RunFilter {
                runs: RunFilterRequest {
                    status: vec![RunStatus::Failed, RunStatus::Stalled],
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs that run",
            RunFilter {
                runs: RunFilterRequest {
                    status: vec![RunStatus::Running],
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs of an automation",
            RunFilter {
                runs: RunFilterRequest {
                    automation: Some(month.hourly.clone()),
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs of an automation that failed",
            RunFilter {
                runs: RunFilterRequest {
                    automation: Some(month.hourly.clone()),
                    status: vec![RunStatus::Failed],
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs of a day, a week ago",
            RunFilter {
                runs: RunFilterRequest {
                    from: Some(before(7 * 24)),
                    to: Some(before(6 * 24)),
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs with a reason",
            RunFilter {
                runs: RunFilterRequest {
                    reason: Some("sign_in".into()),
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs of people",
            RunFilter {
                runs: RunFilterRequest {
                    origin: Some(Origin::Person),
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        sessions("sessions", SessionFilter::default()),
        sessions(
            "conversations by their last change",
            SessionFilter {
                types: vec![SessionType::Regular],
                by_change: true,
                ..SessionFilter::default()
            },
        ),
        sessions(
            "sessions with a title",
            SessionFilter {
                text: Some("about the release".into()),
                ..SessionFilter::default()
            },
        ),
        approvals("approvals that wait", ApprovalStates::Pending),
        approvals("approvals", ApprovalStates::Any),
    ]
}
