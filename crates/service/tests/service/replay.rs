//! Replays of a session, read page by page.

use std::collections::BTreeMap;

use api_types::ReplayItem;
use model::run::RunStatus;
use service::ErrorKind;

use crate::world::World;

/// A session in which two turns were taken, and a third input was cancelled during the first one.
async fn session_with_turns(world: &World) -> String {
    let id = world.conversation().await.id.to_string();
    let first = world.send_message(&id, "one").await;
    let failure_as_cancellation = world.send_message(&id, "never").await;
    world.begin_turn(first).await;
    world.record_tool_calls(first, &["ls", "cat"]).await;
    let given = failure_as_cancellation.to_string();
    world.service.cancel_run(&given).await.unwrap();
    world.record_thought(first, "Nearly done.").await;
    world.finish_with_answer(first, "First answer").await;
    let second = world.send_message(&id, "two").await;
    world.begin_turn(second).await;
    world.finish_with_answer(second, "Second answer").await;
    // One that has written nothing yet is not shown.
    world.send_message(&id, "three").await;
    id
}

/// All of a replay, read in pages of so many rows.
pub(crate) async fn replay_in_pages(world: &World, session: &str, limit: u32) -> Vec<ReplayItem> {
    let mut all = Vec::new();
    let mut after = 0;
    loop {
        let page = world.service.replay(session, after, limit).await.unwrap();
        let is_row = |item: &&ReplayItem| matches!(item, ReplayItem::Message(_));
        let rows = page.items.iter().filter(is_row).count();
        assert!(rows <= limit as usize);
        all.extend(page.items);
        match page.next {
            Some(next) => after = next,
            None => return all,
        }
    }
}

#[tokio::test]
async fn replay_has_each_run_once_before_its_first_row() {
    let world = World::new().await;
    let id = session_with_turns(&world).await;
    let mut shown: BTreeMap<_, (RunStatus, usize)> = BTreeMap::new();
    let mut last = 0;
    for item in replay_in_pages(&world, &id, 500).await {
        match item {
            ReplayItem::Run(run) => {
                let again = shown.insert(run.id, (run.status, 0));
                assert_eq!(again, None);
            }
            ReplayItem::Message(row) => {
                assert!(row.seq > last);
                last = row.seq;
                let run = row.run_id.unwrap();
                shown.get_mut(&run).expect("its run was shown").1 += 1;
            }
            ReplayItem::Task(task) => panic!("a conversation has no task: {task:?}"),
        }
    }
    let shown: Vec<_> = shown.into_values().collect();
    assert_eq!(
        shown,
        [
            (RunStatus::Succeeded, 5),
            (RunStatus::Cancelled, 1),
            (RunStatus::Succeeded, 2),
        ]
    );
}

#[tokio::test]
async fn replay_is_same_for_any_page_size() {
    let world = World::new().await;
    let id = session_with_turns(&world).await;
    let whole = replay_in_pages(&world, &id, 500).await;
    // Eight rows and three runs: some page ends between any two rows.
    assert_eq!(whole.len(), 11);
    for limit in 1..=9 {
        assert_eq!(replay_in_pages(&world, &id, limit).await, whole, "{limit}");
    }
}

#[tokio::test]
async fn replay_continues_after_last_row() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let empty = world.service.replay(&id, 0, 10).await.unwrap();
    assert_eq!((empty.items, empty.next), (Vec::new(), None));
    let run = world.send_message(&id, "one").await;
    world.begin_turn(run).await;
    let begun = replay_in_pages(&world, &id, 10).await;
    let [ReplayItem::Run(shown), ReplayItem::Message(input)] = &begun[..] else {
        panic!("{begun:?}");
    };
    assert_eq!((shown.id, shown.status), (run, RunStatus::Running));
    world.finish_with_answer(run, "Done").await;
    // The rest has no run in it: that was shown before.
    let rest = world.service.replay(&id, input.seq, 10).await.unwrap();
    let [ReplayItem::Message(answer)] = &rest.items[..] else {
        panic!("{rest:?}");
    };
    assert_eq!(&*answer.content, "Done");
    let unknown = world.service.replay("ses_ffff", 0, 10).await;
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::NotFound);
}
