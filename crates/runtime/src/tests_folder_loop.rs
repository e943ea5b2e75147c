use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use delivery::{ForeignTrigger, RunTrigger, TriggerKind, TriggerName};
use futures::future::BoxFuture;
use model::{RunId, Timestamp, WorkerId, policy::SessionMode};
use tempfile::TempDir;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use trigger_folder::TriggerFolder;
use turn::{TurnControl, TurnEnd, TurnStoreError};
use uuid::Uuid;

use super::*;
use crate::{
    locks::Locks,
    running_turns::RunningTurns,
    server_port::{ClaimOutcome, ClaimedTurn, FireOutcome, ServerError, TriggerServer},
    turn_slots::{TurnSlots, TurnWaits},
};

#[path = "tests_copied_files.rs"]
mod copied_files;
#[path = "tests_stop.rs"]
mod stop;

/// The longest wait of a test. It is reached only if something hangs.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A call of the server that the loop has made.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Call {
    Claim(RunId),
    Turn(RunId),
    Fire(String, String),
}

/// A server whose replies a test decides.
struct FakeServer {
    calls: mpsc::UnboundedSender<Call>,
    /// The reply to the claims of a run. A run without one is claimed.
    claims: Mutex<HashMap<RunId, Vec<Result<ClaimOutcome, ()>>>>,
    fires: Mutex<Vec<Result<FireOutcome, ()>>>,
    /// A turn ends when it gets a permit.
    ends: Semaphore,
    turns: AtomicUsize,
    most_turns: AtomicUsize,
    /// `true` if requests are never answered.
    hangs: AtomicBool,
}

fn away() -> ServerError {
    ServerError {
        action: "reach the server",
        source: "connection refused".into(),
    }
}

impl FakeServer {
    async fn hang(&self) {
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }
}

impl TriggerServer for FakeServer {
    fn claim(&self, run: RunId) -> BoxFuture<'_, Result<ClaimOutcome, ServerError>> {
        Box::pin(async move {
            self.calls.send(Call::Claim(run)).ok();
            self.hang().await;
            let mut claims = self.claims.lock().unwrap();
            let replies = claims.entry(run).or_default();
            if !replies.is_empty() {
                return replies.remove(0).map_err(|()| away());
            }
            let directory = None;
            Ok(ClaimOutcome::Claimed(ClaimedTurn { run, directory }))
        })
    }

    fn take_turn(
        &self,
        claimed: ClaimedTurn,
        control: TurnControl,
        _: TurnWaits,
    ) -> BoxFuture<'_, Result<TurnEnd, TurnStoreError>> {
        Box::pin(async move {
            let turns = self.turns.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_turns.fetch_max(turns, Ordering::SeqCst);
            self.calls.send(Call::Turn(claimed.run)).ok();
            let end = tokio::select! {
                permit = self.ends.acquire() => {
                    permit.unwrap().forget();
                    TurnEnd::Finished
                }
                () = control.requeue.cancelled() => TurnEnd::Requeued,
            };
            self.turns.fetch_sub(1, Ordering::SeqCst);
            Ok(end)
        })
    }

    fn fire(
        &self,
        trigger: ForeignTrigger,
        key: String,
    ) -> BoxFuture<'_, Result<FireOutcome, ServerError>> {
        Box::pin(async move {
            self.calls.send(Call::Fire(trigger.automation, key)).ok();
            self.hang().await;
            let mut fires = self.fires.lock().unwrap();
            if fires.is_empty() {
                return Ok(FireOutcome::Fired(run(999)));
            }
            fires.remove(0).map_err(|()| away())
        })
    }
}

/// A loop over a folder.
struct World {
    _home: TempDir,
    folder: PathBuf,
    server: Arc<FakeServer>,
    calls: mpsc::UnboundedReceiver<Call>,
    stop: CancellationToken,
    requeue: CancellationToken,
    stop_timeout: Duration,
    running: Option<JoinHandle<()>>,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("triggers");
        fs::create_dir(&folder).unwrap();
        let (sender, calls) = mpsc::unbounded_channel();
        let server = FakeServer {
            calls: sender,
            claims: Mutex::default(),
            fires: Mutex::default(),
            ends: Semaphore::new(0),
            turns: AtomicUsize::new(0),
            most_turns: AtomicUsize::new(0),
            hangs: AtomicBool::new(false),
        };
        Self {
            _home: home,
            folder,
            server: Arc::new(server),
            calls,
            stop: CancellationToken::new(),
            requeue: CancellationToken::new(),
            stop_timeout: TEST_TIMEOUT,
            running: None,
        }
    }

    /// Returns a worker on the folder, with a number of turns at once.
    async fn worker(&self, turns: usize) -> FileWorker {
        let id = WorkerId::from_stored("test-1-00000001".into());
        FileWorker {
            folder: TriggerFolder::new(&self.folder),
            locks: Arc::new(Locks::acquire(&self.folder, id).await.unwrap()),
            server: Arc::<FakeServer>::clone(&self.server),
            turns: TurnSlots::new(turns, turns),
            running: RunningTurns::default(),
            answers: watch::Sender::new(0),
            incomplete: Mutex::default(),
            stop_timeout: self.stop_timeout,
            stop: self.stop.clone(),
            requeue: self.requeue.clone(),
        }
    }

    /// Starts the loop with a number of turns at once.
    async fn start(&mut self, turns: usize) {
        let worker = self.worker(turns).await;
        let watcher = FolderWatcher::new(&self.folder);
        self.running = Some(tokio::spawn(FolderLoop::new(worker).run(watcher)));
    }

    async fn call(&mut self) -> Call {
        let call = timeout(TEST_TIMEOUT, self.calls.recv()).await;
        call.expect("a call").unwrap()
    }

    /// Stops the loop and waits for its end.
    async fn stopped(&mut self) {
        self.stop.cancel();
        let ended = timeout(TEST_TIMEOUT, self.running.take().unwrap()).await;
        ended.expect("an end").unwrap();
    }

    fn deliver(&self, number: u128) -> String {
        let name = file_name(number);
        write(&self.folder, &name, &content(run(number)));
        name
    }

    fn list(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    async fn wait_until_listed(&self, expected: &[&str]) {
        let reached = async {
            while self.list() != expected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = timeout(TEST_TIMEOUT, reached).await;
        assert!(waited.is_ok(), "{:?}", self.list());
    }

    fn reason(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(format!("failed/{name}.reason"))).unwrap()
    }
}

fn run(number: u128) -> RunId {
    RunId::from_uuid(Uuid::from_u128(number))
}

fn at(number: u128) -> Timestamp {
    Timestamp::from_microsecond(i64::try_from(number).unwrap()).unwrap()
}

fn file_name(number: u128) -> String {
    TriggerName::new(at(number), run(number))
        .unwrap()
        .to_string()
}

fn content(run: RunId) -> String {
    let trigger = RunTrigger::new(
        run,
        TriggerKind::Cron,
        at(0),
        "go".into(),
        SessionMode::Fresh,
    );
    trigger.to_json().unwrap()
}

/// Writes a file as a careful program does.
fn write(folder: &Path, name: &str, content: &str) {
    let temporary = folder.join(format!(".{name}"));
    fs::write(&temporary, content).unwrap();
    fs::rename(temporary, folder.join(name)).unwrap();
}

#[tokio::test]
async fn unreadable_file_is_moved_with_reason() {
    let mut world = World::new();
    for (name, content) in [
        ("list.json", "[]"),
        ("nameless.json", r#"{"task": "Look"}"#),
        ("twice.json", r#"{"runId": null, "runId": null}"#),
    ] {
        write(&world.folder, name, content);
    }
    let large = fs::File::create(world.folder.join("large.json")).unwrap();
    large.set_len(delivery::MAX_FILE_BYTES as u64 + 1).unwrap();
    world.start(1).await;
    world.wait_until_listed(&["failed"]).await;
    for (name, expected) in [
        ("list.json", "expected an object"),
        ("nameless.json", "`scheduleName`"),
        ("twice.json", "`runId` occurs twice"),
        ("large.json", "too large"),
    ] {
        let reason = world.reason(name);
        assert!(reason.contains(expected), "{reason}");
    }
    world.stopped().await;
}

#[tokio::test]
async fn file_stays_until_end_of_its_turn_is_recorded() {
    let mut world = World::new();
    world.start(4).await;
    let name = world.deliver(1);
    assert_eq!(world.call().await, Call::Claim(run(1)));
    assert_eq!(world.call().await, Call::Turn(run(1)));
    assert_eq!(world.list(), [name]);
    world.server.ends.add_permits(1);
    world.wait_until_listed(&[]).await;
    world.stopped().await;
}

#[tokio::test]
async fn file_of_run_that_is_over_is_removed_without_a_turn() {
    let mut world = World::new();
    let over = Ok(ClaimOutcome::Over);
    world
        .server
        .claims
        .lock()
        .unwrap()
        .insert(run(1), vec![over]);
    world.deliver(1);
    world.start(4).await;
    assert_eq!(world.call().await, Call::Claim(run(1)));
    world.wait_until_listed(&[]).await;
    world.stopped().await;
    assert!(world.calls.try_recv().is_err(), "no other call");
}

#[tokio::test]
async fn file_of_run_of_other_instance_is_moved_away_with_reason() {
    let mut world = World::new();
    let foreign = vec![Ok(ClaimOutcome::NotOfInstance)];
    world.server.claims.lock().unwrap().insert(run(1), foreign);
    let name = world.deliver(1);
    world.start(4).await;
    assert_eq!(world.call().await, Call::Claim(run(1)));
    world.wait_until_listed(&["failed"]).await;
    let reason = world.reason(&name);
    assert!(reason.contains("belongs to another instance"), "{reason}");
    assert!(world.folder.join("failed").join(&name).exists());
    world.stopped().await;
}

#[tokio::test]
async fn turns_begin_in_order_of_names_up_to_limit() {
    let mut world = World::new();
    for number in (1..=20).rev() {
        world.deliver(number);
    }
    world.start(2).await;
    let mut begun = Vec::new();
    for number in 0..20 {
        if number >= 2 {
            world.server.ends.add_permits(1);
        }
        loop {
            if let Call::Turn(run) = world.call().await {
                begun.push(run);
                break;
            }
        }
    }
    let expected: Vec<_> = (1..=20).map(run).collect();
    assert_eq!(begun, expected);
    assert_eq!(world.server.most_turns.load(Ordering::SeqCst), 2);
    world.server.ends.add_permits(2);
    world.wait_until_listed(&[]).await;
    world.stopped().await;
}

#[tokio::test]
async fn foreign_file_passes_runs_that_wait_for_a_turn() {
    let mut world = World::new();
    for number in 1..=3 {
        world.deliver(number);
    }
    let text = r#"{"schedule": "daily monitor", "timestamp": "2026-04-30T09:00:00Z"}"#;
    write(&world.folder, "zzz.json", text);
    world.start(1).await;
    let key = delivery::Trigger::idempotency_key(b"zzz.json", text.as_bytes());
    let expected = Call::Fire("daily monitor".into(), key);
    while world.call().await != expected {}
    let names = [1, 2, 3].map(file_name);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    world.wait_until_listed(&names).await;
    world.requeue.cancel();
    world.stopped().await;
}

#[tokio::test]
async fn refused_foreign_file_is_moved_with_reason_of_server() {
    let mut world = World::new();
    let refused = FireOutcome::Refused("the automation `daily` is paused".into());
    world.server.fires.lock().unwrap().push(Ok(refused));
    write(&world.folder, "a.json", r#"{"schedule": "daily"}"#);
    world.start(1).await;
    world.wait_until_listed(&["failed"]).await;
    assert_eq!(world.reason("a.json"), "the automation `daily` is paused\n");
    world.stopped().await;
}

#[tokio::test]
async fn files_stay_while_server_is_away_and_are_tried_again() {
    let mut world = World::new();
    let twice = vec![Err(()), Err(())];
    world.server.claims.lock().unwrap().insert(run(1), twice);
    world.server.fires.lock().unwrap().push(Err(()));
    let name = world.deliver(1);
    write(&world.folder, "a.json", r#"{"schedule": "daily"}"#);
    world.server.ends.add_permits(1);
    world.start(1).await;
    while world.call().await != Call::Claim(run(1)) {}
    assert_eq!(world.list(), [name, "a.json".to_owned()]);
    world.wait_until_listed(&[]).await;
    world.stopped().await;
    let mut calls = Vec::new();
    while let Ok(call) = world.calls.try_recv() {
        calls.push(call);
    }
    let fires = calls.iter().filter(|call| matches!(call, Call::Fire(..)));
    assert!(fires.count() >= 1, "{calls:?}");
    assert!(calls.contains(&Call::Turn(run(1))), "{calls:?}");
}

#[tokio::test]
async fn file_written_in_place_is_read_when_it_is_complete() {
    let mut world = World::new();
    world.start(1).await;
    let path = world.folder.join("a.json");
    let text = r#"{"schedule": "daily"}"#;
    fs::write(&path, &text[..9]).unwrap();
    // The loop has read the first part when it has taken a file that came later.
    let over = vec![Ok(ClaimOutcome::Over)];
    world.server.claims.lock().unwrap().insert(run(1), over);
    world.deliver(1);
    assert_eq!(world.call().await, Call::Claim(run(1)));
    world.wait_until_listed(&["a.json"]).await;
    fs::write(&path, text).unwrap();
    assert!(matches!(world.call().await, Call::Fire(automation, _) if automation == "daily"));
    world.wait_until_listed(&[]).await;
    world.stopped().await;
}

#[tokio::test]
async fn stop_begins_no_turn_and_waits_for_those_that_run() {
    let mut world = World::new();
    world.start(1).await;
    let names = [1, 2].map(|number| world.deliver(number));
    assert_eq!(world.call().await, Call::Claim(run(1)));
    assert_eq!(world.call().await, Call::Turn(run(1)));
    world.stop.cancel();
    world.server.ends.add_permits(1);
    world.stopped().await;
    // The file of the run that has not begun stays for the next runtime.
    assert_eq!(world.list(), [names[1].clone()]);
    assert!(world.calls.try_recv().is_err(), "no other call");
}

#[tokio::test]
async fn requeue_ends_turns_that_outlast_the_stop() {
    let mut world = World::new();
    world.start(1).await;
    world.deliver(1);
    assert_eq!(world.call().await, Call::Claim(run(1)));
    assert_eq!(world.call().await, Call::Turn(run(1)));
    world.stop.cancel();
    world.requeue.cancel();
    world.stopped().await;
    // The server delivers a run that waits again under another name.
    assert!(world.list().is_empty());
}

#[tokio::test]
async fn folder_that_vanishes_and_returns_is_served_again() {
    let mut world = World::new();
    world.start(1).await;
    world.deliver(1);
    assert_eq!(world.call().await, Call::Claim(run(1)));
    assert_eq!(world.call().await, Call::Turn(run(1)));
    fs::rename(&world.folder, world.folder.with_file_name("away")).unwrap();
    world.server.ends.add_permits(2);
    fs::create_dir(&world.folder).unwrap();
    world.deliver(2);
    assert_eq!(world.call().await, Call::Claim(run(2)));
    world.wait_until_listed(&[]).await;
    world.stopped().await;
}

#[tokio::test]
async fn ten_thousand_files_are_drained() {
    let mut world = World::new();
    for number in 1..=10_000 {
        world.deliver(number);
    }
    world.server.ends.add_permits(10_000);
    world.start(4).await;
    world.wait_until_listed(&[]).await;
    world.stopped().await;
    let mut turns = 0;
    while let Ok(call) = world.calls.try_recv() {
        turns += usize::from(matches!(call, Call::Turn(_)));
    }
    assert_eq!(turns, 10_000);
}
