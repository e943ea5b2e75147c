//! Notices the changes of other processes on PostgreSQL, by notifications.

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
pub(super) async fn watch(wakes: &ChangeNotifier, database: &Database) {
    let listening = async {
        let Some(address) = database.listen_address() else {
            // No connection can listen through a pooler. Keep this task alive, because polling goes on beside it.
            wakes.state.set_polling(PollingReason::Pooler);
            return std::future::pending().await;
        };
        loop {
            wakes.state.set_polling(PollingReason::Lost);
            if let Err(error) = Box::pin(listen(wakes, &address, HEARTBEAT_TIMING)).await {
                tracing::debug!(%error, "lost the connection that listens for changes");
            }
            wakes.state.set_polling(PollingReason::Lost);
            tokio::time::sleep(RECONNECT_DELAY).await;
        }
    };
    // `None` means that the database is closed.
    let _: Option<()> = database.while_open(listening).await;
}

/// Listens until the connection is lost. The next connection wakes all tasks, because notifications may have been
/// lost.
async fn listen(
    wakes: &ChangeNotifier,
    address: &ListenAddress,
    pulse: HeartbeatTiming,
) -> Result<(), Error> {
    let mut listener = Listener::connect(address, pulse.reply_timeout).await?;
    listener.listen(CHANGES_CHANNEL).await?;
    let mut heard = HashSet::new();
    update_channels(&mut listener, &mut heard, wakes).await?;
    wakes.state.set(ListenerState::Listening);
    // Wake all tasks for changes that were committed before the connection listened.
    wakes.wake_all();
    wakes.workers.signal_all();
    let mut heartbeat = tokio::time::interval(pulse.interval);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeat.tick().await;
    loop {
        tokio::select! {
            notification = listener.next() => match notification? {
                Some(notification) => dispatch(wakes, &notification),
                None => return Ok(()),
            },
            () = wakes.channels.changed() => {
                let new = update_channels(&mut listener, &mut heard, wakes).await?;
                // Wake the tasks for messages that were published before the connection listened to the channel.
                wakes.wake(&new);
            }
            _ = heartbeat.tick() => {
                listener.ping().await?;
            }
        }
    }
}

/// Wakes the tasks for which a notification is meant. Ignores a payload of an unknown kind.
fn dispatch(wakes: &ChangeNotifier, notification: &Notification) {
    let payload = notification.payload();
    let log = match notification.channel() {
        CHANGES_CHANNEL => Uuid::try_parse(payload).ok(),
        channel => channels::session(channel),
    };
    match log {
        Some(log) => wakes.wake(&[log]),
        None => wakes.workers.signal(payload),
    }
}

/// Listens to the channels of the sessions that have subscribers, and to no others, in one round trip. Returns the
/// sessions that are new.
async fn update_channels(
    listener: &mut Listener,
    heard: &mut HashSet<Uuid>,
    wakes: &ChangeNotifier,
) -> Result<Vec<Uuid>, Error> {
    let wanted = wakes.channels.subscribed_sessions();
    let new: Vec<Uuid> = wanted.difference(heard).copied().collect();
    let listen = new.iter().map(|session| channels::name(*session));
    let unlisten = heard.difference(&wanted);
    let unlisten = unlisten.map(|session| channels::name(*session));
    listener.update_channels(listen, unlisten).await?;
    *heard = wanted;
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

    /// Carries connections to a server until it is told to hold everything, and closes none.
    async fn proxy_until_frozen(at: &Path, server: &Path, hold: watch::Receiver<bool>) {
        let socket = UnixListener::bind(at.join(SOCKET_FILE_NAME)).unwrap();
        loop {
            let (mut near, _) = socket.accept().await.unwrap();
            let mut far = UnixStream::connect(server.join(SOCKET_FILE_NAME))
                .await
                .unwrap();
            let mut hold = hold.clone();
            tokio::spawn(async move {
                tokio::select! {
                    _ = copy_bidirectional(&mut near, &mut far) => return,
                    _ = hold.wait_for(|hold| *hold) => {}
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
        let (holding, hold) = watch::channel(false);
        let (near, far) = (folder.clone(), server.to_owned());
        let carrier =
            tokio::spawn(async move { proxy_until_frozen(&near, Path::new(&far), hold).await });
        let address: ListenAddress = format!("{address}?host={}", folder.display())
            .parse()
            .unwrap();
        let wakes = ChangeNotifier::default();
        let mut state = wakes.state.subscribe();
        let listening = async {
            // Until the carrier has its socket.
            loop {
                let lost = Box::pin(listen(&wakes, &address, FAST_HEARTBEAT_TIMING)).await;
                if *holding.borrow() {
                    return lost;
                }
            }
        };
        let cutting = async {
            let listens = |state: &ListenerState| *state == ListenerState::Listening;
            state.wait_for(listens).await.unwrap();
            holding.send_replace(true);
        };
        let (lost, ()) = tokio::join!(listening, cutting);
        assert!(matches!(lost, Err(Error::Connection { .. })), "{lost:?}");
        carrier.abort();
    }

    /// Whether what is told in `channel` wakes anybody. What is told afterwards in the channel of all
    /// changes always does, and in the same order.
    async fn is_woken_by(
        sleeper: &Subscriber,
        pool: &PgPool,
        channel: Uuid,
        told: &mut u128,
    ) -> bool {
        *told += 1;
        let after = Uuid::from_u128(*told);
        let tell = [
            (channels::name(channel), String::new()),
            (CHANGES_CHANNEL.to_owned(), after.to_string()),
        ];
        for (channel, payload) in tell {
            let telling = sqlx::query("select pg_notify($1, $2)")
                .bind(channel)
                .bind(payload);
            telling.execute(pool).await.unwrap();
        }
        let mut woken = HashSet::new();
        while !woken.contains(&after) {
            sleeper.wakeup.notified().await;
            woken.extend(std::mem::take(&mut *lock(&sleeper.changed)).logs);
        }
        woken.contains(&channel)
    }

    #[tokio::test]
    async fn session_channel_is_listened_to_only_while_subscribed() {
        let database = TestDatabase::empty_postgres().unwrap();
        let address: ListenAddress = database.url().parse().unwrap();
        let pool = PgPool::connect(database.url()).await.unwrap();
        let wakes = Arc::new(ChangeNotifier::default());
        let sleeper = Arc::new(Subscriber::default());
        lock(&wakes.subscribers).all.push(Arc::clone(&sleeper));
        wakes.subscriber_count.store(1, Ordering::SeqCst);
        let listening = listen(&wakes, &address, HEARTBEAT_TIMING);
        let subscribing = async {
            let mut state = wakes.state.subscribe();
            let listens = |state: &ListenerState| *state == ListenerState::Listening;
            state.wait_for(listens).await.unwrap();
            // That it listens from now on wakes for everything.
            sleeper.wakeup.notified().await;
            lock(&sleeper.changed).everything = false;
            let (session, mut told) = (Uuid::from_u128(1), 1);
            assert!(!is_woken_by(&sleeper, &pool, session, &mut told).await);
            let first = ChannelSubscription::new(&wakes, session);
            let second = ChannelSubscription::new(&wakes, session);
            while !is_woken_by(&sleeper, &pool, session, &mut told).await {}
            drop(first);
            assert!(is_woken_by(&sleeper, &pool, session, &mut told).await);
            drop(second);
            while is_woken_by(&sleeper, &pool, session, &mut told).await {}
        };
        tokio::select! {
            ended = listening => panic!("{ended:?}"),
            () = subscribing => {}
        }
        pool.close().await;
    }
}
