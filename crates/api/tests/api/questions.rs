//! Questions: lists, answers, and refused answers of ended questions.

use std::time::Duration;

use model::{
    Clock as _, InstanceId, QuestionId, WorkerId,
    access::{Permission, Role},
    question::{Elicitation, QuestionBody},
    turn::{StartReply, WriteOutcome},
};
use serde_json::{Value, json};
use store::{NewQuestion, ToolCaller};
use uuid::Uuid;

use crate::world::{Answer, World};

impl World {
    /// Begins a turn of an automation, as an agent that can call tools.
    pub(crate) async fn begin_turn_with_tools(&self, automation: &str) -> ToolCaller {
        let here = InstanceId::from_uuid(Uuid::from_u128(1));
        let now = self.clock.now();
        let registered = self.store.register_instance(self.tenant, here, "here", now);
        registered.await.unwrap();
        let fired = self
            .post(&format!("/automations/{automation}/fire"), json!({}))
            .await
            .expect(202);
        let caller = ToolCaller {
            run: fired["id"].as_str().unwrap().parse().unwrap(),
            secret: [7; 32],
            worker: WorkerId::from_stored("host-1-aaaaaaaa".into()),
            stale_after: Duration::from_mins(3),
        };
        let (run, worker) = (caller.run, &caller.worker);
        let claimed = self.store.claim(worker, here, 1, Some(run), now);
        assert_eq!(claimed.await.unwrap().len(), 1);
        let begun = self
            .store
            .begin(run, worker, here, now, Some(caller.secret));
        assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
        caller
    }

    /// Asks a question with a deadline in ten minutes.
    pub(crate) async fn ask_person(&self, caller: &ToolCaller, text: &str) -> String {
        let now = self.clock.advance(Duration::from_millis(1));
        let new = NewQuestion {
            text: text.into(),
            body: QuestionBody {
                options: vec!["red".into(), "blue".into()],
                default: Some(json!("red")),
                schema: None,
            },
            deadline: now + Duration::from_mins(10),
        };
        let asked = self.store.ask_person(caller, &new, now).await;
        asked.unwrap().id.to_string()
    }

    async fn answer(&self, token: &str, question: &str, body: &Value) -> Answer {
        let path = format!("/questions/{question}/answer");
        self.request_as(token, "POST", &path, Some(body), &[]).await
    }
}

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap()).collect()
}

pub(crate) async fn pending_questions_are_listed_and_answered_by_members(world: &World) {
    let automation = world.automation("daily").await;
    let automation = automation["id"].as_str().unwrap();
    let caller = world.begin_turn_with_tools(automation).await;
    let [first, second, third] = [
        world.ask_person(&caller, "Which colour?").await,
        world.ask_person(&caller, "Which size?").await,
        world.ask_person(&caller, "Which name?").await,
    ];
    let page = world.get("/questions?limit=2").await.expect(200);
    assert_eq!(ids(&page), [&third, &second]);
    let next = page["next"].as_str().unwrap();
    let page = world.get(&format!("/questions?limit=2&after={next}")).await;
    assert_eq!(ids(&page.expect(200)), [&first]);
    let shown = world.get(&format!("/questions/{first}")).await.expect(200);
    assert_eq!(
        (&shown["state"], &shown["kind"]),
        (&json!("pending"), &json!("tool"))
    );
    assert_eq!(shown["options"], json!(["red", "blue"]));
    assert_eq!(shown["default"], "red");
    assert_eq!(shown["automation_id"], automation);
    let overview = world.get("/overview").await.expect(200);
    let needs = overview["needs"]["questions"].as_array().unwrap();
    assert_eq!(needs.len(), 3);
    assert_eq!(needs[0]["id"], first.as_str());
    assert_eq!(needs[0]["automation_name"], "daily");

    // A viewer cannot answer.
    let viewer = world.token(Role::Viewer, None).await;
    let list = world
        .request_as(&viewer, "GET", "/questions", None, &[])
        .await;
    assert_eq!(ids(&list.expect(200)).len(), 3);
    let blue = json!({ "text": " blue " });
    let refused = world.answer(&viewer, &first, &blue).await;
    assert!(refused.problem(403).contains("approvals:write"));
    let member = world
        .token(Role::Member, Some(&[Permission::ApprovalsWrite]))
        .await;
    let answered = world.answer(&member, &first, &blue).await.expect(200);
    assert_eq!(answered["state"], "answered");
    assert_eq!(answered["answer"], "blue");
    assert_eq!(answered["answered_by"], "one more");
    let option = world
        .answer(&world.admin, &second, &json!({ "option": 2 }))
        .await;
    assert_eq!(option.expect(200)["answer"], "blue");

    let session = shown["session_id"].as_str().unwrap();
    for (filter, expected) in [
        ("", vec![&third]),
        ("?state=any", vec![&third, &second, &first]),
        ("?state=answered", vec![&second, &first]),
        (&format!("?session={session}"), vec![&third]),
    ] {
        let page = world.get(&format!("/questions{filter}")).await.expect(200);
        assert_eq!(ids(&page), expected, "{filter}");
    }
    let refused = world.get("/questions?state=maybe").await.problem(400);
    assert!(refused.contains("expired, void, any"), "{refused}");
}

pub(crate) async fn invalid_or_late_answer_is_refused(world: &World) {
    let automation = world.automation("daily").await;
    let caller = world
        .begin_turn_with_tools(automation["id"].as_str().unwrap())
        .await;
    let [answered, late] = [
        world.ask_person(&caller, "Which colour?").await,
        world.ask_person(&caller, "Which size?").await,
    ];
    for (body, part) in [
        (json!({}), "`text` or `option`"),
        (json!({ "text": " " }), "it is empty"),
        (json!({ "text": "x".repeat(8193) }), "up to 8192"),
        (json!({ "option": 0 }), "1 to 2"),
        (json!({ "option": 3 }), "1 to 2"),
        (json!({ "text": "a", "option": 1 }), "either"),
    ] {
        let refused = world.answer(&world.admin, &answered, &body).await;
        let detail = refused.problem(422);
        assert!(detail.contains(part), "{body}: {detail}");
    }
    let body = json!({ "text": "blue" });
    let first = world.answer(&world.admin, &answered, &body).await;
    first.expect(200);
    let again = world.answer(&world.admin, &answered, &body).await;
    assert!(again.problem(409).contains("` is answered, so"));
    world.clock.advance(Duration::from_mins(10));
    let refused = world.answer(&world.admin, &late, &body).await;
    assert!(refused.problem(409).contains("` has expired, so"));
    let absent = format!("/questions/que_{}", "0197".repeat(8));
    world.get(&absent).await.problem(404);
}

pub(crate) async fn repeated_answer_returns_same_response(world: &World) {
    let automation = world.automation("daily").await;
    let caller = world
        .begin_turn_with_tools(automation["id"].as_str().unwrap())
        .await;
    let id = world.ask_person(&caller, "Which colour?").await;
    let send = async |key: &str, answer: &str| {
        let path = format!("/questions/{id}/answer");
        let headers = [("idempotency-key", key)];
        let body = json!({ "text": answer });
        world
            .request_as(&world.admin, "POST", &path, Some(&body), &headers)
            .await
    };
    let first = send("k", "blue").await.expect(200);
    let again = send("k", "blue").await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.json(), first);
    // The server stopped before it recorded the response, and the repeated request returns the same answer.
    assert_eq!(send("other", "blue").await.expect(200), first);
    send("third", "green").await.problem(409);
}

pub(crate) async fn only_question_of_waiting_agent_is_declined(world: &World) {
    let automation = world.automation("daily").await;
    let caller = world
        .begin_turn_with_tools(automation["id"].as_str().unwrap())
        .await;
    let decline = async |token: &str, question: &str| {
        let path = format!("/questions/{question}/decline");
        world.request_as(token, "POST", &path, None, &[]).await
    };
    // 1. No agent waits for the answer to a question of the tool.
    let asked = world.ask_person(&caller, "Which colour?").await;
    let refused = decline(&world.admin, &asked).await;
    assert!(refused.problem(422).contains("no agent waits"));
    // 2. An agent that waits learns of it, once, and the default does not count.
    let schema = json!({ "properties": { "size": { "type": "integer", "default": 3 } } });
    let question = Elicitation::new("Which size?", &schema).unwrap();
    let id = QuestionId::from_uuid(Uuid::from_u128(7));
    let now = world.clock.now();
    let deadline = now + Duration::from_mins(10);
    let requested =
        world
            .store
            .request_answer(caller.run, &caller.worker, id, &question, deadline, now);
    assert_eq!(requested.await.unwrap(), WriteOutcome::Committed);
    let run = world
        .get(&format!("/runs/{}", caller.run))
        .await
        .expect(200);
    assert_eq!(run["blocked_on"]["for"], "answer", "{run}");
    assert_eq!(run["blocked_on"]["question"], id.to_string());
    let listed = world.get("/runs").await.expect(200);
    assert_eq!(listed["items"][0]["waits_for_answer"], true, "{listed}");
    let viewer = world.token(Role::Viewer, None).await;
    decline(&viewer, &id.to_string()).await.problem(403);
    let declined = decline(&world.admin, &id.to_string()).await.expect(200);
    assert_eq!(
        (
            &declined["state"],
            &declined["declined"],
            &declined["answer"]
        ),
        (&json!("answered"), &json!(true), &Value::Null)
    );
    let again = decline(&world.admin, &id.to_string()).await;
    assert!(again.problem(409).contains("is answered"));
}
