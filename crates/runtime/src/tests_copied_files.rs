//! Files of one run, as copies of one.

use futures::poll;

use super::*;

#[tokio::test]
async fn second_file_of_run_begins_no_second_turn() {
    let mut world = World::new();
    world.start(4).await;
    let first = world.deliver(1);
    assert_eq!(world.call().await, Call::Claim(run(1)));
    assert_eq!(world.call().await, Call::Turn(run(1)));
    write(&world.folder, "copy.json", &content(run(1)));
    // The loop has seen the copy when it has taken a file that came later.
    let over = || vec![Ok(ClaimOutcome::Over)];
    world.server.claims.lock().unwrap().insert(run(2), over());
    world.deliver(2);
    assert_eq!(world.call().await, Call::Claim(run(2)));
    world.wait_until_listed(&[&first, "copy.json"]).await;
    world.server.claims.lock().unwrap().insert(run(1), over());
    world.server.ends.add_permits(1);
    world.wait_until_listed(&[]).await;
    assert_eq!(world.call().await, Call::Claim(run(1)));
    world.stopped().await;
    assert_eq!(world.server.most_turns.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn file_that_meets_another_one_of_its_run_waits_for_it_without_a_slot() {
    let world = World::new();
    let worker = world.worker(1).await;
    let other_file = worker.running.register(run(1)).unwrap();
    let mut work = Box::pin(work_on_new_file(&world, &worker).await);
    assert!(poll!(&mut work).is_pending());
    assert!(poll!(Box::pin(worker.turns.clone().acquire())).is_ready());
    drop(other_file);
    assert_eq!(work.await.unwrap(), FileEnd::Again);
}

#[tokio::test]
async fn file_is_delayed_while_another_one_of_its_run_is_at_work() {
    let world = World::new();
    let worker = world.worker(1).await;
    let _other_file = worker.running.register(run(1)).unwrap();
    let work = work_on_new_file(&world, &worker).await;
    assert_eq!(work.await.unwrap(), FileEnd::Later);
}

/// Writes a file of the first run, and returns the work on it.
async fn work_on_new_file<'a>(
    world: &World,
    worker: &'a FileWorker,
) -> impl Future<Output = Result<FileEnd, FileError>> + 'a {
    let name = FileName::from_bytes(world.deliver(1).as_bytes()).unwrap();
    let request = worker.read(&name).await;
    let slot = worker.queue_turn(&request).await;
    worker.work_on(name, request.unwrap(), slot)
}
