//! Round trips of values whose fields all differ from their defaults, and bodies of other versions.

use std::{fmt::Debug, path::Path, time::Duration};

use model::{
    AcpSessionId, AutomationId, MessageId, RunId, SessionId, Timestamp, WorkingDirectory,
    agent::{AgentConfig, ResourceLimits, RestoreBy},
    approval::{self, ApprovalStatus, LongInput, OnUnmatched, RequestedPermission},
    budget::{
        self, Account, Budget, BudgetPeriods, Money, Owner, PeriodLimits, RunLimits, RunUsage,
        UsageTotals,
    },
    entity::SeatSettings,
    outcome::{FailureKind, Outcome, RunFailure, StopReason},
    permission::{PermissionRule, PermissionRules, Verdict},
    precheck::{self, Precheck},
    question::{self, QuestionBody, QuestionState},
    run::{Origin, RunFlags},
    tools::ToolAccess,
    turn::{
        self, DeclineOutcome, EntryKind, HeartbeatReply, Role, SeatMemory, StartReply,
        TurnPolicies, WriteOutcome,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    accounts::Accounts,
    approvals::{ApprovalReply, Elicitation, Permission, QuestionReply},
    assignment::TurnAssignment,
    begin::{BeginReply, DeclineReply, PrecheckJob},
    presence::{ClaimReply, PresenceReply, PresenceStatus},
    result::TurnResult,
    writes::{Entry, HeartbeatResponse, WriteReply},
};

/// Sends a body through JSON.
fn sent<T: Serialize + DeserializeOwned>(body: &T) -> T {
    serde_json::from_value(serde_json::to_value(body).unwrap()).unwrap()
}

/// The fields whose keys are data: maps, and values of agents.
const FREE_FIELDS: [&str; 9] = [
    "env",
    "settings",
    "cost",
    "usage",
    "metadata",
    "diagnostics",
    "input",
    "default",
    "schema",
];

/// Reads a body with a key that this version does not know in each of its objects.
fn with_unknown_keys<T: Serialize + DeserializeOwned>(body: &T) -> T {
    fn add(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let fixed = fields
                    .iter_mut()
                    .filter(|(name, _)| !FREE_FIELDS.contains(&name.as_str()));
                fixed.for_each(|(_, value)| add(value));
                fields.insert("key_of_a_later_version".into(), json!({ "x": 1 }));
            }
            Value::Array(items) => items.iter_mut().for_each(add),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(body).unwrap();
    add(&mut value);
    serde_json::from_value(value).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_microsecond(second * 1_000_000 + 1).unwrap()
}

fn run() -> RunId {
    RunId::from_uuid(Uuid::from_u128(1))
}

fn session() -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(2))
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn totals(base: u64) -> UsageTotals {
    UsageTotals {
        tokens: base,
        cost: [(text("USD"), base + 1)].into(),
        turns: base + 2,
        time: Duration::from_micros(base + 3),
    }
}

fn limits(base: u32) -> PeriodLimits {
    PeriodLimits {
        tokens: Some(base.into()),
        cost: Some(Money::new(u64::from(base) + 1, "EUR").unwrap()),
        turns: Some(base + 2),
        minutes: Some(base + 3),
    }
}

fn accounts() -> budget::Accounts {
    budget::Accounts {
        accounts: vec![Account {
            owner: Owner::Automation,
            budget: Budget {
                run: RunLimits {
                    tokens: Some(10),
                    cost: Some(Money::new(11, "USD").unwrap()),
                },
                day: limits(20),
                month: limits(30),
            },
            periods: BudgetPeriods {
                month: at(1),
                day: at(2),
                day_end: at(3),
                month_end: Timestamp::MAX,
            },
            day: totals(40),
            month: totals(50),
        }],
        counted: RunUsage {
            tokens: 60,
            cost: [(text("EUR"), 61)].into(),
        },
    }
}

fn rules() -> PermissionRules {
    PermissionRules(vec![
        PermissionRule {
            tool: text("execute"),
            title: Some(text("git *")),
            verdict: Verdict::Allow,
        },
        PermissionRule {
            tool: text("*"),
            title: None,
            verdict: Verdict::Deny,
        },
    ])
}

fn agent() -> AgentConfig {
    AgentConfig {
        command: vec![text("agent"), text("--acp")],
        env: [(text("KEY"), text("value"))].into(),
        pass_env: vec![text("PROXY")],
        authenticate: Some(text("key")),
        restore: RestoreBy::Load,
        permissions: rules(),
        mode: Some(text("plan")),
        settings: [(text("model"), text("small"))].into(),
        restore_after_seconds: 1,
        start_seconds: 2,
        restore_seconds: 3,
        limits: ResourceLimits {
            memory_bytes: Some(4),
            processes: Some(5),
            cpu_seconds: Some(6),
            open_files: Some(7),
            file_bytes: Some(8),
        },
        tools: ToolAccess::Read,
        own_tools: vec![text("mcp__{tool}")],
    }
}

fn assignment(directory: WorkingDirectory) -> turn::TurnAssignment {
    turn::TurnAssignment {
        run: run(),
        origin: Origin::Person,
        session: session(),
        directory,
        memory: SeatMemory {
            acp_session_id: Some(AcpSessionId::new("s-1")),
            turns: 2,
            usage: Some(json!({ "used": 3 })),
            settings: SeatSettings {
                mode: Some(text("ask")),
                values: [(text("model"), text("large"))].into(),
            },
            updated_at: at(4),
        },
        agent_name: text("claude"),
        agent: agent(),
        policies: TurnPolicies {
            timeout_seconds: 5,
            inactivity_seconds: 6,
            on_unmatched: OnUnmatched::RequestApproval,
            ask_seconds: 7,
            tools: ToolAccess::Read,
        },
        permissions: rules(),
        prompt: vec![text("report"), text("prompt")],
        accounts: accounts(),
    }
}

fn run_failure() -> RunFailure {
    RunFailure {
        kind: FailureKind::RestoreBusy,
        prompted: true,
        message: text("busy"),
    }
}

fn assert_round_trip<D, B>(domain: &D, into_domain: impl Fn(B) -> D)
where
    D: Clone + PartialEq + Debug,
    B: From<D> + Serialize + DeserializeOwned,
{
    let body = B::from(domain.clone());
    assert_eq!(into_domain(sent(&body)), *domain);
    assert_eq!(into_domain(with_unknown_keys(&body)), *domain);
}

#[test]
fn assignment_arrives_with_every_field() {
    let folders = Path::new("/folder/.matins/sessions");
    let own = folders.join(session().to_string());
    for directory in [
        WorkingDirectory::Given(text("/work")),
        WorkingDirectory::Own(own.to_str().unwrap().to_owned()),
        WorkingDirectory::OwnOfSeat {
            path: own.join("worker-1").to_str().unwrap().to_owned(),
            seat: text("worker-1"),
        },
    ] {
        assert_round_trip(&assignment(directory), |body: TurnAssignment| {
            body.into_domain(folders).unwrap()
        });
    }
    // The own folder of the server is another than that of the runtime.
    let body = TurnAssignment::from(assignment(WorkingDirectory::Own(text("/data/sessions/x"))));
    let read = body.into_domain(folders).unwrap();
    assert_eq!(read.directory.path(), own.to_str().unwrap());
}

#[test]
fn folder_of_seat_never_leads_out_of_its_session() {
    for seat in ["..", "../other", "/etc", "a/b", ""] {
        let directory = WorkingDirectory::OwnOfSeat {
            path: text("/data/sessions/x"),
            seat: text(seat),
        };
        let body = TurnAssignment::from(assignment(directory));
        let error = body.into_domain(Path::new("/sessions")).unwrap_err();
        assert_eq!(error.field, "seat_folder");
    }
}

#[test]
fn assignment_of_server_without_tools_grants_none() {
    let assignment = assignment(WorkingDirectory::Given(text("/work")));
    let mut earlier = serde_json::to_value(TurnAssignment::from(assignment)).unwrap();
    earlier.as_object_mut().unwrap().remove("serves_tools");
    let earlier: TurnAssignment = serde_json::from_value(earlier).unwrap();
    let read = earlier.into_domain(Path::new("/sessions")).unwrap();
    assert_eq!(read.policies.tools, ToolAccess::None);
}

#[test]
fn replies_to_begin_arrive() {
    let folders = Path::new("/sessions");
    let job = precheck::PrecheckJob {
        run: run(),
        session: session(),
        directory: WorkingDirectory::Given(text("/work")),
        automation: AutomationId::from_uuid(Uuid::from_u128(3)),
        name: text("report"),
        scheduled_for: Some(at(8)),
        precheck: Precheck {
            command: vec![text("check")],
            timeout_seconds: 9,
        },
    };
    let given = WorkingDirectory::Given(text("/work"));
    for make in [
        || StartReply::Deferred,
        || StartReply::Cancelled,
        || StartReply::Refused(run_failure()),
        || StartReply::Fenced,
    ] {
        let body = BeginReply::from(make());
        assert_eq!(sent(&body).into_domain(folders).unwrap(), make());
    }
    for make in [
        &|| StartReply::RunPrecheck(Box::new(job.clone())),
        &(|| StartReply::Started(Box::new(assignment(given.clone()))))
            as &dyn Fn() -> StartReply<turn::TurnAssignment>,
    ] {
        let body = BeginReply::from(make());
        assert_eq!(
            with_unknown_keys(&body).into_domain(folders).unwrap(),
            make()
        );
    }
    let body = PrecheckJob::from(job.clone());
    assert_eq!(PrecheckJob::from(job), sent(&body));
    for outcome in [
        DeclineOutcome::Skipped,
        DeclineOutcome::WithSession,
        DeclineOutcome::Fenced,
    ] {
        assert_round_trip(&outcome, |body: DeclineReply| body.into());
    }
}

#[test]
fn result_arrives_with_every_field() {
    for outcome in [
        Outcome::Stopped(StopReason::MaxTokens),
        Outcome::Cancelled(text("by a person")),
        Outcome::Failed(run_failure()),
    ] {
        let result = turn::TurnResult {
            outcome,
            answer: text("answer \u{1F600} \"quoted\""),
            acp_session_id: Some(AcpSessionId::new("s-2")),
            turn_ended: true,
            flags: RunFlags {
                empty_answer: true,
                permissions_denied: 1,
                tool_calls: 2,
                answer_cut: true,
                precheck_unclear: true,
            },
            usage: Some(json!({ "used": 3 })),
            title: Some(text("title")),
            diagnostics: json!({ "process": { "status": "exit code 0" } }),
            error: Some(text("error")),
        };
        assert_round_trip(&result, |body: TurnResult| body.into());
    }
}

#[test]
fn writes_and_their_replies_arrive() {
    let entry = turn::Entry {
        id: MessageId::from_uuid(Uuid::from_u128(4)),
        role: Role::Tool,
        kind: EntryKind::ToolCall,
        content: text("ls"),
        metadata: json!({ "input": [1, 2] }),
    };
    assert_round_trip(&entry, |body: Entry| body.into());
    for outcome in [WriteOutcome::Committed, WriteOutcome::Fenced] {
        assert_round_trip(&outcome, |body: WriteReply| body.into());
    }
    for reply in [
        HeartbeatReply::Continue,
        HeartbeatReply::Cancel(text("by a person")),
        HeartbeatReply::Fenced,
    ] {
        assert_round_trip(&reply, |body: HeartbeatResponse| body.into());
    }
    assert_round_trip(&accounts(), |body: Accounts| body.into_domain().unwrap());
}

#[test]
fn requests_to_people_arrive_with_every_field() {
    let request = approval::ApprovalRequest {
        permission: RequestedPermission {
            tool_kind: text("execute"),
            title: text("rm -r"),
            tool_call: text("call-1"),
            input: Some(json!("{\"beginning")),
            input_cut: true,
        },
        long_input: Some(LongInput {
            json: text("{}"),
            bytes: 5,
        }),
    };
    assert_round_trip(&request, |body: Permission| body.into());
    let question = question::Elicitation {
        text: text("Which one?"),
        body: QuestionBody {
            options: vec![text("a")],
            default: Some(json!({ "a": 1 })),
            schema: Some(json!({ "type": "object" })),
        },
    };
    assert_round_trip(&question, |body: Elicitation| body.into());
    for state in ApprovalStatus::ALL {
        assert_eq!(sent(&ApprovalReply::from(*state)).state(), *state);
    }
    let expired = |answer| QuestionState::Expired {
        at: at(1),
        answer,
        input: None,
    };
    for (state, pending, answer) in [
        (QuestionState::Pending, true, None),
        (expired(None), false, None),
        (
            expired(Some(json!({ "a": 1 }))),
            false,
            Some(json!({ "a": 1 })),
        ),
        // A person who declines is not the same as no answer.
        (expired(Some(Value::Null)), false, Some(Value::Null)),
    ] {
        let reply = sent(&QuestionReply::from(&state));
        assert_eq!((reply.pending, reply.answer), (pending, answer));
    }
}

#[test]
fn words_of_later_versions_have_safe_substitutes() {
    let read = |body: Value| {
        let result: TurnResult = serde_json::from_value(body).unwrap();
        turn::TurnResult::from(result).outcome
    };
    let result = |outcome: Value| {
        json!({
            "outcome": outcome, "answer": "", "turn_ended": false, "flags": {}, "diagnostics": {},
        })
    };
    for outcome in [
        json!({ "kind": "suspended", "until": "noon" }),
        json!({ "kind": "stopped", "reason": "usage_limit" }),
    ] {
        let Outcome::Failed(failure) = read(result(outcome)) else {
            panic!("it is no failure");
        };
        assert_eq!(
            (failure.kind, failure.prompted),
            (FailureKind::Protocol, true)
        );
    }
    let failed = json!({ "kind": "usage_limit", "prompted": true, "message": "at noon" });
    let Outcome::Failed(failure) = read(result(json!({ "kind": "failed", "run_failure": failed })))
    else {
        panic!("it is no failure");
    };
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::AgentError, "at noon")
    );

    let reply = |status: &str| json!({ "status": status, "more": 1 });
    let begun: BeginReply = serde_json::from_value(reply("queued_elsewhere")).unwrap();
    assert_eq!(begun, BeginReply::Unknown);
    let begun = begun.into_domain(Path::new("/")).unwrap();
    assert_eq!(begun, StartReply::Deferred, "the turn does not begin");
    let beat: HeartbeatResponse = serde_json::from_value(reply("slow_down")).unwrap();
    assert_eq!(HeartbeatReply::from(beat), HeartbeatReply::Continue);
    let claim: ClaimReply = serde_json::from_value(reply("later")).unwrap();
    assert_eq!(claim, ClaimReply::NotNow);
    let presence = json!({ "status": "resting", "now": at(1) });
    let presence: PresenceReply = serde_json::from_value(presence).unwrap();
    assert_eq!(presence.status, PresenceStatus::Continue);
    // An unknown outcome of a write proves nothing.
    serde_json::from_value::<WriteReply>(reply("half")).unwrap_err();
    let state: ApprovalReply = serde_json::from_value(json!({ "state": "allowed_once" })).unwrap();
    assert_eq!(state.state().verdict(), Some(Verdict::Deny));

    let mut body = serde_json::to_value(TurnAssignment::from(assignment(WorkingDirectory::Given(
        text("/work"),
    ))))
    .unwrap();
    body["permissions"][0]["verdict"] = json!("allow_on_sundays");
    body["policies"]["on_unmatched"] = json!("vote");
    body["policies"]["tools"] = json!("most");
    let body: TurnAssignment = serde_json::from_value(body).unwrap();
    let read = body.into_domain(Path::new("/")).unwrap();
    assert_eq!(read.permissions.0[0].verdict, Verdict::Deny);
    assert_eq!(read.policies.on_unmatched, OnUnmatched::Deny);
    assert_eq!(read.tools(), ToolAccess::None);
}

#[test]
fn limit_in_invalid_currency_is_an_error() {
    let mut body = serde_json::to_value(Accounts::from(accounts())).unwrap();
    body["accounts"][0]["day"]["cost"]["currency"] = json!("");
    let body: Accounts = serde_json::from_value(body).unwrap();
    let error = body.into_domain().unwrap_err().to_string();
    assert!(error.contains("`cost`"), "{error}");
}
