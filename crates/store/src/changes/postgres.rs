//! Notices the changes of other processes on PostgreSQL, by its notifications.

use std::{collections::HashSet, time::Duration};

use tokio::time::MissedTickBehavior;
use uuid::Uuid;

use super::{
    channels,
    listener_state::{ListenerState, PollingReason},
    notifier::ChangeNotifier,
};
use crate::database::{Database, Error, ListenAddress, Listener, Notification};

/// The channel of all changes. The payload is the ID of a log, or the name of a kind of work.
const CHANGES_CHANNEL: &str = "matins_wake";
/// The pause before the next attempt to connect.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// The heartbeat of the listening connection.
#[derive(Debug, Clone, Copy)]
struct HeartbeatTiming {
    /// The interval of the heartbeat. Without a heartbeat, a connection whose server has vanished would stay silent
    /// forever.
    interval: Duration,
    /// The maximum wait for a reply to a heartbeat, or to a change of the channels.
    reply_timeout: Duration,
}

const HEARTBEAT_TIMING: HeartbeatTiming = HeartbeatTiming {
    interval: Duration::from_secs(10),
    reply_timeout: Duration::from_secs(5),
};

/// Listens until the database is closed. Connects again whenever the connection is lost.
pub(super) async fn watch(notifier: &ChangeNotifier, database: &Database) {
    let listening = async {
        let Some(address) = database.listen_address() else {
            // No connection can listen through a pooler. Keep this task alive, because polling goes on beside it.
            notifier.state.set_polling(PollingReason::Pooler);
            return std::future::pending().await;
        };
        loop {
            notifier.state.set_polling(PollingReason::Lost);
            if let Err(error) = Box::pin(listen(notifier, &address, HEARTBEAT_TIMING)).await {
                tracing::debug!(%error, "lost the connection that listens for changes");
            }
            notifier.state.set_polling(PollingReason::Lost);
            tokio::time::sleep(RECONNECT_DELAY).await;
        }
    };
    // `None` means that the database is closed.
    let _: Option<()> = database.while_open(listening).await;
}

/// Listens until the connection is lost. The next connection wakes all tasks, because notifications may have been
/// lost.
async fn listen(
    notifier: &ChangeNotifier,
    address: &ListenAddress,
    timing: HeartbeatTiming,
) -> Result<(), Error> {
    let mut listener = Listener::connect(address, timing.reply_timeout).await?;
    listener.listen(CHANGES_CHANNEL).await?;
    let mut listened = HashSet::new();
    update_channels(&mut listener, &mut listened, notifier).await?;
    notifier.state.set(ListenerState::Listening);
    // Wake all workers and tasks for changes that were committed before the connection listened.
    notifier.workers.signal_all();
    notifier.wake_all();
    let mut heartbeat = tokio::time::interval(timing.interval);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeat.tick().await;
    loop {
        tokio::select! {
            notification = listener.next() => match notification? {
                Some(notification) => dispatch(notifier, &notification),
                None => return Ok(()),
            },
            () = notifier.channels.changed() => {
                let new = update_channels(&mut listener, &mut listened, notifier).await?;
                // Wake the tasks for messages that were published before the connection listened to the channel.
                notifier.wake(&new);
            }
            _ = heartbeat.tick() => {
                listener.ping().await?;
            }
        }
    }
}

/// Wakes the tasks for which a notification is meant. Ignores a payload of an unknown kind.
fn dispatch(notifier: &ChangeNotifier, notification: &Notification) {
    let payload = notification.payload();
    let log = match notification.channel() {
        CHANGES_CHANNEL => Uuid::try_parse(payload).ok(),
        channel => channels::session(channel),
    };
    match log {
        Some(log) => notifier.wake(&[log]),
        None => notifier.workers.signal(payload),
    }
}

/// Listens to the channels of the sessions that have subscribers, and to no others, in one round trip. Returns the
/// sessions that are new.
async fn update_channels(
    listener: &mut Listener,
    listened: &mut HashSet<Uuid>,
    notifier: &ChangeNotifier,
) -> Result<Vec<Uuid>, Error> {
    let wanted = notifier.channels.subscribed_sessions();
    let new: Vec<Uuid> = wanted.difference(listened).copied().collect();
    let listen = new.iter().map(|session| channels::name(*session));
    let unlisten = listened.difference(&wanted);
    let unlisten = unlisten.map(|session| channels::name(*session));
    listener.update_channels(listen, unlisten).await?;
    *listened = wanted;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use std::{
        path::Path,
        sync::{Arc, atomic::Ordering},
    };

    use sqlx::PgPool;
    use testkit::databases::TestDatabase;
    use tokio::{
        io::copy_bidirectional,
        net::{UnixListener, UnixStream},
        sync::watch,
    };

    use super::{
        super::{channel_subscription::ChannelSubscription, mutex::lock, notifier::Subscriber},
        *,
    };

    const SOCKET_FILE_NAME: &str = ".s.PGSQL.5432";
    const FAST_HEARTBEAT_TIMING: HeartbeatTiming = HeartbeatTiming {
        interval: Duration::from_millis(20),
        reply_timeout: Duration::from_millis(200),
    };

    /// Forwards connections to a server until `frozen` becomes `true`, then forwards nothing and closes no connection.
    async fn proxy_until_frozen(at: &Path, server: &Path, frozen: watch::Receiver<bool>) {
        let socket = UnixListener::bind(at.join(SOCKET_FILE_NAME)).unwrap();
        loop {
            let (mut near, _) = socket.accept().await.unwrap();
            let mut far = UnixStream::connect(server.join(SOCKET_FILE_NAME))
                .await
                .unwrap();
            let mut frozen = frozen.clone();
            tokio::spawn(async move {
                tokio::select! {
                    _ = copy_bidirectional(&mut near, &mut far) => return,
                    _ = frozen.wait_for(|frozen| *frozen) => {}
                }
                // Both ends stay open, and nothing goes through.
                std::future::pending::<()>().await;
            });
        }
    }

    #[tokio::test]
    async fn half_open_connection_is_detected() {
        let database = TestDatabase::empty_postgres().unwrap();
        let (address, server) = database.url().split_once("?host=").unwrap();
        let home = TestDatabase::sqlite().unwrap();
        let folder = home.file().unwrap().parent().unwrap().to_owned();
        let (freeze, frozen) = watch::channel(false);
        let (near, far) = (folder.clone(), server.to_owned());
        let proxy =
            tokio::spawn(async move { proxy_until_frozen(&near, Path::new(&far), frozen).await });
        let address: ListenAddress = format!("{address}?host={}", folder.display())
            .parse()
            .unwrap();
        let notifier = ChangeNotifier::default();
        let mut state = notifier.state.subscribe();
        let listening = async {
            // Retry until the proxy has bound its socket.
            loop {
                let lost = Box::pin(listen(&notifier, &address, FAST_HEARTBEAT_TIMING)).await;
                if *freeze.borrow() {
                    return lost;
                }
            }
        };
        let cutting = async {
            let listens = |state: &ListenerState| *state == ListenerState::Listening;
            state.wait_for(listens).await.unwrap();
            freeze.send_replace(true);
        };
        let (lost, ()) = tokio::join!(listening, cutting);
        assert!(matches!(lost, Err(Error::Connection { .. })), "{lost:?}");
        proxy.abort();
    }

    /// Returns `true` if a notification in `channel` wakes the subscriber. A second notification, in the channel of
    /// all changes, always wakes it and arrives later, so the function does not wait for a timeout.
    async fn is_woken_by(
        subscriber: &Subscriber,
        pool: &PgPool,
        channel: Uuid,
        last_id: &mut u128,
    ) -> bool {
        *last_id += 1;
        let after = Uuid::from_u128(*last_id);
        let notifications = [
            (channels::name(channel), String::new()),
            (CHANGES_CHANNEL.to_owned(), after.to_string()),
        ];
        for (channel, payload) in notifications {
            let notify = sqlx::query("select pg_notify($1, $2)")
                .bind(channel)
                .bind(payload);
            notify.execute(pool).await.unwrap();
        }
        let mut woken = HashSet::new();
        while !woken.contains(&after) {
            subscriber.wakeup.notified().await;
            woken.extend(std::mem::take(&mut *lock(&subscriber.changed)).logs);
        }
        woken.contains(&channel)
    }

    #[tokio::test]
    async fn session_channel_is_listened_to_only_while_subscribed() {
        let database = TestDatabase::empty_postgres().unwrap();
        let address: ListenAddress = database.url().parse().unwrap();
        let pool = PgPool::connect(database.url()).await.unwrap();
        let notifier = Arc::new(ChangeNotifier::default());
        let subscriber = Arc::new(Subscriber::default());
        lock(&notifier.subscribers)
            .all
            .push(Arc::clone(&subscriber));
        notifier.subscriber_count.store(1, Ordering::SeqCst);
        let listening = listen(&notifier, &address, HEARTBEAT_TIMING);
        let subscribing = async {
            let mut state = notifier.state.subscribe();
            let listens = |state: &ListenerState| *state == ListenerState::Listening;
            state.wait_for(listens).await.unwrap();
            // The new connection wakes the subscriber for all logs. Clear that.
            subscriber.wakeup.notified().await;
            lock(&subscriber.changed).everything = false;
            let (session, mut last_id) = (Uuid::from_u128(1), 1);
            assert!(!is_woken_by(&subscriber, &pool, session, &mut last_id).await);
            let first = ChannelSubscription::new(&notifier, session);
            let second = ChannelSubscription::new(&notifier, session);
            while !is_woken_by(&subscriber, &pool, session, &mut last_id).await {}
            drop(first);
            assert!(is_woken_by(&subscriber, &pool, session, &mut last_id).await);
            drop(second);
            while is_woken_by(&subscriber, &pool, session, &mut last_id).await {}
        };
        tokio::select! {
            ended = listening => panic!("{ended:?}"),
            () = subscribing => {}
        }
        pool.close().await;
    }
}
