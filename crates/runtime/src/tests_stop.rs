//! The stop of the loop while its folder hangs, as one on a network volume that is away, or while the server does not answer.

use rustix::fs::{CWD, FileType, mknodat};

use super::*;

impl World {
    /// Creates a loop whose stop waits for nothing.
    fn without_stop_wait() -> Self {
        Self {
            stop_timeout: Duration::ZERO,
            ..Self::new()
        }
    }
}

#[tokio::test]
async fn stop_waits_for_no_listing_of_folder_that_hangs() {
    let mut world = World::without_stop_wait();
    world.start(1).await;
    // In the folder that comes next, the lock of the worker is taken, so that the listing waits for it.
    let next = world.folder.with_file_name("next");
    let workers = next.join(".matins/workers");
    fs::create_dir_all(&workers).unwrap();
    let taken = fs::File::create(workers.join("test-1-00000001.lock")).unwrap();
    taken.lock().unwrap();
    fs::rename(&world.folder, world.folder.with_file_name("away")).unwrap();
    fs::rename(&next, &world.folder).unwrap();
    // The listing locks the folder first, and writes the process ID.
    let lock = world.folder.join(".matins/lock");
    let is_locked = || fs::read_to_string(&lock).is_ok_and(|pid| pid.ends_with('\n'));
    let locked = async {
        while !is_locked() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TEST_TIMEOUT, locked).await.unwrap();
    world.stopped().await;
    drop(taken);
}

#[tokio::test]
async fn stop_waits_for_no_file_in_folder_that_hangs() {
    let mut world = World::without_stop_wait();
    let name = world.deliver(1);
    let foreign = vec![Ok(ClaimOutcome::NotOfInstance)];
    world.server.claims.lock().unwrap().insert(run(1), foreign);
    // The reason is written into a pipe, which waits for a reader.
    let failed = world.folder.join("failed");
    fs::create_dir(&failed).unwrap();
    let reason = failed.join(format!("{name}.reason"));
    mknodat(CWD, &reason, FileType::Fifo, 0o600.into(), 0).unwrap();
    world.start(1).await;
    assert_eq!(world.call().await, Call::Claim(run(1)));
    world.stopped().await;
    assert_eq!(world.list(), [name, "failed".to_owned()]);
    // The thread of the removal ends.
    fs::File::open(&reason).unwrap();
}

#[tokio::test]
async fn stop_waits_for_removal_from_folder_that_answers() {
    let mut world = World::new();
    world.start(1).await;
    world.deliver(1);
    assert_eq!(world.call().await, Call::Claim(run(1)));
    assert_eq!(world.call().await, Call::Turn(run(1)));
    world.stop.cancel();
    world.server.ends.add_permits(1);
    world.stopped().await;
    assert!(world.list().is_empty());
    // The locks are free.
    let id = WorkerId::from_stored("test-1-00000002".into());
    Locks::acquire(&world.folder, id).await.unwrap();
}

#[tokio::test]
async fn stop_waits_for_no_answer_to_claim_or_fire() {
    for foreign in [false, true] {
        let mut world = World::without_stop_wait();
        world.server.hangs.store(true, Ordering::SeqCst);
        let name = if foreign {
            write(&world.folder, "drop.json", r#"{"schedule": "daily"}"#);
            "drop.json".to_owned()
        } else {
            world.deliver(1)
        };
        world.start(1).await;
        let called = world.call().await;
        assert_eq!(matches!(called, Call::Fire(..)), foreign, "{called:?}");
        world.stopped().await;
        assert_eq!(world.list(), [name]);
    }
}
