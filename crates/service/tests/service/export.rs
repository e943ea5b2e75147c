//! Exports of sessions.

use api_types::ExportFormat;
use futures::TryStreamExt as _;
use serde_json::Value;
use service::ErrorKind;
use store::GoalChange;

use crate::{
    goal_edits::Draft,
    world::{World, error_chain, request},
};

impl World {
    async fn exported(&self, session: &str, format: ExportFormat, zone: Option<&str>) -> String {
        let export = self.service.export(session, format, zone).await.unwrap();
        export.into_stream().try_collect().await.unwrap()
    }

    /// A session with one turn, at 10:00 in Prague.
    async fn session_with_turn(&self) -> String {
        let id = self.conversation().await.id.to_string();
        let run = self.send_message(&id, "What is new?").await;
        self.begin_turn(run).await;
        self.record_thought(run, "Look first.\n\nThen tell.").await;
        self.record_tool_calls(run, &["grep `x`\nfile"]).await;
        self.finish_with_answer(run, "Nothing.\u{1b}[31m Really.")
            .await;
        id
    }
}

#[tokio::test]
async fn markdown_export_shows_times_in_zone() {
    let world = World::new().await;
    let id = world.session_with_turn().await;
    for (zone, begun, heading) in [
        (
            None,
            "09:00:00 +00:00",
            "## You, 2026-11-21 09:00:00 +00:00",
        ),
        (
            Some("Europe/Prague"),
            "10:00:00 +01:00",
            "## Agent, 2026-11-21 10:00:00 +01:00",
        ),
        (
            Some("America/New_York"),
            "04:00:00 -05:00",
            "## Agent, 2026-11-21 04:00:00 -05:00",
        ),
        (
            Some("Pacific/Kiritimati"),
            "23:00:00 +14:00",
            "Tool at 2026-11-21 23:00:00 +14:00",
        ),
    ] {
        let text = world.exported(&id, ExportFormat::Markdown, zone).await;
        assert!(
            text.contains(&format!("- Created: 2026-11-21 {begun}\n")),
            "{text}"
        );
        assert!(text.contains(heading), "{heading}: {text}");
    }
    for format in [ExportFormat::Markdown, ExportFormat::Jsonl] {
        let nowhere = world.service.export(&id, format, Some("Europe/Prage"));
        let Err(refused) = nowhere.await else {
            panic!("it was taken");
        };
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(error_chain(&refused).contains("did you mean Europe/Prague?"));
    }
}

#[tokio::test]
async fn markdown_export_is_readable_and_terminal_safe() {
    let world = World::new().await;
    let id = world.session_with_turn().await;
    let text = world.exported(&id, ExportFormat::Markdown, None).await;
    assert!(
        text.starts_with(&format!("# {id}\n\n- Session: `{id}`\n")),
        "{text}"
    );
    assert!(text.contains("- Agent: good\n"), "{text}");
    let at = "2026-11-21 09:00:00 +00:00";
    for part in [
        format!("\n## You, {at}\n\nWhat is new?\n"),
        format!("\n> *Thought ({at})*\n> Look first.\n>\n> Then tell.\n"),
        format!("\n- Tool at {at}: `grep 'x' file` (execute, completed)\n"),
        format!("\n## Agent, {at}\n\nNothing.\\u{{1b}}[31m Really.\n"),
    ] {
        assert!(text.contains(&part), "{part:?} is not in {text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[tokio::test]
async fn markdown_export_has_durations_of_tool_calls() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let run = world.send_message(&id, "Edit").await;
    world.begin_turn(run).await;
    let start = "2026-11-21T09:00:00Z";
    for (title, times) in [
        ("timed", [start, "2026-11-21T09:01:02.25Z"]),
        ("backward", [start, "2026-11-21T08:59:59Z"]),
        ("damaged", [start, "soon"]),
    ] {
        world.record_timed_tool_call(run, title, times).await;
    }
    // A row of an earlier version has no instants.
    world.record_tool_calls(run, &["old"]).await;
    let text = world.exported(&id, ExportFormat::Markdown, None).await;
    for part in [
        "`timed` (edit, failed, 62.2 s)\n",
        "`backward` (edit, failed)\n",
        "`damaged` (edit, failed)\n",
        "`old` (execute, completed)\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn scheduled_prompt_is_exported_under_automation_name() {
    let world = World::new().await;
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let run = world.service.fire("news", None).await.unwrap();
    world.begin_turn(run.id).await;
    world.finish_with_answer(run.id, "All quiet.").await;
    let id = run.session_id.unwrap().to_string();
    let text = world.exported(&id, ExportFormat::Markdown, None).await;
    assert!(text.contains("- Automation: news\n"), "{text}");
    assert!(text.contains("\n## Schedule, news, 2026-11-21 "), "{text}");
    assert!(!text.contains("## You"), "{text}");
}

#[tokio::test]
async fn export_of_goal_tells_matins_and_seats_apart() {
    let draft = Draft::create().await;
    let (world, id) = (&draft.world, draft.session.to_string());
    world
        .store
        .change_goal(
            world.tenant,
            draft.session,
            &GoalChange::Start,
            world.clock_now(),
        )
        .await
        .unwrap();
    let planner = world.service.session(&id).await.unwrap().open_runs[0]
        .run
        .id;
    world.begin_turn(planner).await;
    world.record_thought(planner, "Look first.").await;
    world.record_tool_calls(planner, &["ls"]).await;
    world.finish_with_answer(planner, "I have no plan.").await;
    let text = world.exported(&id, ExportFormat::Markdown, None).await;
    for part in [
        "\n## Matins to planner, task plan#1, 2026-11-21 ",
        "\n> *Thought of planner (2026-11-21 ",
        "\n- Tool of planner at 2026-11-21 ",
        "\n## planner, 2026-11-21 ",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    for part in ["## You", "## Agent"] {
        assert!(!text.contains(part), "{part:?} is in {text}");
    }
    let text = world.exported(&id, ExportFormat::Jsonl, None).await;
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let seats = lines[0]["session"]["seats"].as_array().unwrap();
    assert_eq!(seats.len(), 3, "{seats:?}");
    let prompt = lines.iter().find(|row| row["role"] == "user").unwrap();
    assert_eq!(prompt["metadata"]["_to_name"], "planner");
    assert_eq!(prompt["metadata"]["_task_key"], "plan#1");
    let answer = lines.iter().find(|row| row["role"] == "assistant");
    let seat = seats.iter().find(|seat| seat["name"] == "planner").unwrap();
    assert_eq!(answer.unwrap()["seat_id"], seat["id"]);
}

#[tokio::test]
async fn json_lines_export_has_session_then_each_row_once() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let run = world.send_message(&id, "Count").await;
    world.begin_turn(run).await;
    // More rows than are read at a time.
    let titles: Vec<String> = (0..120).map(|number| format!("call {number}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    world.record_tool_calls(run, &titles).await;
    let begun = world.service.export(&id, ExportFormat::Jsonl, None).await;
    // The export does not contain rows that were written after its start.
    world.finish_with_answer(run, "Counted").await;
    let text: String = begun.unwrap().into_stream().try_collect().await.unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["format"], "matins.session");
    assert_eq!(lines[0]["version"], 2);
    assert_eq!(lines[0]["session"]["id"], id);
    assert_eq!(lines[0]["session"]["agent"], "good");
    assert_eq!(lines[0]["session"].get("seats"), None);
    assert_eq!(lines[1]["content"], "Count");
    let calls: Vec<_> = lines[2..]
        .iter()
        .map(|row| row["content"].as_str().unwrap())
        .collect();
    assert_eq!(calls, titles);
    let later = world.exported(&id, ExportFormat::Jsonl, None).await;
    assert_eq!(later.lines().count(), lines.len() + 1);
}
