//! The dispatcher: runs of an instance with a folder become files there.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use daemon::{
    Daemon,
    dispatcher::{Deliveries, OpenFolder, deliver_due},
};
use delivery::{Trigger, TriggerName, TriggerRequest};
use futures::future::BoxFuture;
use model::{
    Clock as _, InstanceId, RunId, TokenId,
    access::Role,
    limits::REDELIVER_AFTER,
    policy::SessionMode,
    run::RunStatus,
    trigger_file::{InstanceFolder, TriggerFile},
};
use store::{NewInstance, NewToken};
use tokio::sync::Semaphore;
use trigger_folder::{Delivered, Delivery, DeliveryError, DirectoryDelivery};

use crate::world::{TEST_TIMEOUT, World, automation, eventually};

/// An instance whose folder is in the home of a world.
struct FolderInstance {
    instance: InstanceId,
    folder: PathBuf,
}

impl FolderInstance {
    /// Adds an instance. Its folder does not exist yet.
    async fn add(world: &World) -> Self {
        Self::add_named(world, "triggers").await
    }

    /// Adds an instance with the name of its folder.
    async fn add_named(world: &World, name: &str) -> Self {
        let (now, entropy) = (world.clock.now(), &*world.host.entropy);
        let folder = world.path(name);
        let mut hash = [0; 32];
        hash[..name.len()].copy_from_slice(name.as_bytes());
        let new = NewInstance {
            id: InstanceId::generate(now, entropy),
            name: name.into(),
            folder: InstanceFolder {
                path: folder.to_str().unwrap().into(),
                runtime_path: None,
            },
        };
        let token = NewToken {
            id: TokenId::generate(now, entropy),
            name: "runtime".into(),
            role: Role::Runtime,
            scopes: None,
            hash,
            secret_prefix: "mat_1".into(),
            made_by: None,
            expires_at: None,
        };
        let added = world.store().add_instance(world.tenant, &new, &token, now);
        added.await.unwrap();
        Self {
            instance: new.id,
            folder,
        }
    }

    fn create_folder(&self) {
        fs::create_dir(&self.folder).unwrap();
        fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// Returns the names in the folder, in order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

/// Fires an automation that is placed on an instance.
async fn placed_run(world: &World, there: &FolderInstance) -> RunId {
    let agent = world.agent(&world.script()).await;
    let mut new = automation(agent, SessionMode::Continuous);
    new.name = format!("monitor {}", world.runs().await.len());
    new.placed_on = Some(there.instance);
    let id = world.create_automation(&new).await;
    world.fire(id).await
}

/// The writes into a folder that hangs until it is released.
#[derive(Clone)]
struct HangingFolder {
    folder: DirectoryDelivery,
    released: Arc<Semaphore>,
    /// The number of writes that have begun.
    write_count: Arc<AtomicUsize>,
}

impl HangingFolder {
    fn new(there: &FolderInstance) -> Self {
        Self {
            folder: DirectoryDelivery::new(&there.folder),
            released: Arc::new(Semaphore::new(0)),
            write_count: Arc::default(),
        }
    }

    /// Returns the deliveries of a server for which this folder hangs.
    fn deliveries(&self, world: &World, write_timeout: Duration) -> Deliveries {
        let hanging = self.clone();
        let open: OpenFolder = Arc::new(move |folder: &InstanceFolder| -> Box<dyn Delivery> {
            if folder.path.ends_with("hanging") {
                return Box::new(hanging.clone());
            }
            Box::new(DirectoryDelivery::new(&folder.path))
        });
        Deliveries::standalone(world.host.clone(), open, write_timeout)
    }

    fn write_count(&self) -> usize {
        self.write_count.load(Ordering::SeqCst)
    }
}

impl Delivery for HangingFolder {
    fn deliver(
        &self,
        name: &TriggerName,
        content: &[u8],
    ) -> BoxFuture<'_, Result<Delivered, DeliveryError>> {
        let (name, content) = (*name, content.to_vec());
        self.write_count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            drop(self.released.acquire().await.unwrap());
            self.folder.deliver(&name, &content).await
        })
    }
}

async fn file_of(world: &World, run: RunId) -> TriggerFile {
    let found = world.store().trigger_file(world.scope(), run).await;
    found.unwrap().unwrap()
}

pub(crate) async fn placed_run_becomes_file_of_its_instance(world: &World) {
    let there = FolderInstance::add(world).await;
    there.create_folder();
    assert_eq!(deliver_due(&world.host).await.unwrap(), 0);
    let run = placed_run(world, &there).await;
    assert_eq!(deliver_due(&world.host).await.unwrap(), 1);
    let name = format!("20261123T075950.000000Z-{run}.json");
    assert_eq!(there.names(), [name.as_str()]);
    let content = fs::read(there.folder.join(&name)).unwrap();
    let read = Trigger::parse(&content).unwrap();
    assert_eq!(read.request, TriggerRequest::Run(run));
    let fields: serde_json::Value = serde_json::from_slice(&content).unwrap();
    let automation = world.run(run).await.automation_id.unwrap();
    assert_eq!(fields["schedule"], automation.to_string());
    assert_eq!(fields["type"], "cron");
    assert_eq!(fields["sessionMode"], "continuous");
    assert_eq!(fields["mcpServers"], serde_json::json!([]));
    assert_eq!(world.run(run).await.status(), RunStatus::Delivered);
    // Nothing is due before the next look, which finds the file.
    assert_eq!(deliver_due(&world.host).await.unwrap(), 0);
    world.clock.advance(REDELIVER_AFTER);
    assert_eq!(deliver_due(&world.host).await.unwrap(), 1);
    assert_eq!(file_of(world, run).await.writes, 1);
    // A file that was removed is written again under the same name.
    fs::remove_file(there.folder.join(&name)).unwrap();
    world.clock.advance(REDELIVER_AFTER);
    assert_eq!(deliver_due(&world.host).await.unwrap(), 1);
    assert_eq!(there.names(), [name]);
    assert_eq!(file_of(world, run).await.writes, 2);
}

pub(crate) async fn failed_delivery_is_retried_and_never_a_success(world: &World) {
    let there = FolderInstance::add(world).await;
    let run = placed_run(world, &there).await;
    assert_eq!(deliver_due(&world.host).await.unwrap(), 0);
    let file = file_of(world, run).await;
    assert_eq!((file.failures, file.writes), (1, 0));
    let error = file.error.unwrap();
    assert!(
        error.contains("triggers") && error.contains("does not exist"),
        "{error}"
    );
    assert_eq!(world.run(run).await.status(), RunStatus::Queued);
    // A folder into which other users may write is refused as well.
    there.create_folder();
    fs::set_permissions(&there.folder, fs::Permissions::from_mode(0o777)).unwrap();
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(deliver_due(&world.host).await.unwrap(), 0);
    let error = file_of(world, run).await.error.unwrap();
    assert!(error.contains("other users may write"), "{error}");
    assert_eq!(there.names(), [""; 0]);
    fs::set_permissions(&there.folder, fs::Permissions::from_mode(0o700)).unwrap();
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(deliver_due(&world.host).await.unwrap(), 1);
    let file = file_of(world, run).await;
    assert_eq!((file.failures, file.error, file.writes), (0, None, 1));
    assert_eq!(world.run(run).await.status(), RunStatus::Delivered);
}

pub(crate) async fn server_delivers_as_soon_as_run_is_queued(world: &World) {
    let there = FolderInstance::add(world).await;
    there.create_folder();
    let server = Daemon::start(world.host.clone());
    let run = placed_run(world, &there).await;
    server.signals().wake();
    eventually("a file", async || (there.names().len() == 1).then_some(())).await;
    eventually("a delivered run", async || {
        let status = world.run(run).await.status();
        (status == RunStatus::Delivered).then_some(())
    })
    .await;
    // The servers' own workers never take it, and the watchdog leaves it alone.
    world.clock.advance(Duration::from_hours(48));
    server.signals().wake();
    server.stop().await;
    assert_eq!(world.run(run).await.status(), RunStatus::Delivered);
}

pub(crate) async fn hanging_folder_delays_no_other_one(world: &World) {
    let hanging = FolderInstance::add_named(world, "hanging").await;
    let other = FolderInstance::add_named(world, "other").await;
    for there in [&hanging, &other] {
        there.create_folder();
    }
    let folder = HangingFolder::new(&hanging);
    let deliveries = folder.deliveries(world, TEST_TIMEOUT);
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(placed_run(world, &hanging).await);
    }
    placed_run(world, &other).await;
    let first = tokio::spawn({
        let deliveries = deliveries.clone();
        async move { deliveries.deliver_due().await }
    });
    eventually("a file in the other folder", async || {
        (other.names().len() == 1 && folder.write_count() == 1).then_some(())
    })
    .await;
    // Later rounds go on with the other folder, and leave the hanging one alone: one write occupies one thread.
    let next = placed_run(world, &other).await;
    eventually("a delivered run", async || {
        deliveries.deliver_due().await.unwrap();
        (world.run(next).await.status() == RunStatus::Delivered).then_some(())
    })
    .await;
    world.clock.advance(Duration::from_hours(1));
    let last = placed_run(world, &other).await;
    deliveries.deliver_due().await.unwrap();
    assert_eq!(world.run(last).await.status(), RunStatus::Delivered);
    assert_eq!((folder.write_count(), hanging.names().len()), (1, 0));
    // The rest follows as soon as the folder answers.
    folder.released.add_permits(1);
    let delivered = tokio::time::timeout(TEST_TIMEOUT, first).await;
    assert!(delivered.unwrap().unwrap().unwrap() >= 4);
    for run in runs {
        assert_eq!(world.run(run).await.status(), RunStatus::Delivered);
    }
    assert_eq!(hanging.names().len(), 3);
}

pub(crate) async fn late_write_counts_after_its_timeout(world: &World) {
    let hanging = FolderInstance::add_named(world, "hanging").await;
    hanging.create_folder();
    let folder = HangingFolder::new(&hanging);
    let deliveries = folder.deliveries(world, Duration::ZERO);
    let run = placed_run(world, &hanging).await;
    assert_eq!(deliveries.deliver_due().await.unwrap(), 0);
    let file = file_of(world, run).await;
    let error = file.error.unwrap();
    assert!(error.contains("hanging` did not answer within"), "{error}");
    // The write is still under way, so that this server begins no other one.
    world.clock.advance(Duration::from_hours(1));
    assert_eq!(deliveries.deliver_due().await.unwrap(), 0);
    assert_eq!((folder.write_count(), file.failures), (1, 1));
    assert_eq!(world.run(run).await.status(), RunStatus::Queued);
    folder.released.add_permits(1);
    eventually("the late write", async || {
        (world.run(run).await.status() == RunStatus::Delivered).then_some(())
    })
    .await;
    let file = file_of(world, run).await;
    assert_eq!((file.failures, file.error, file.writes), (0, None, 1));
}
