//! Notices the changes of other processes on PostgreSQL, by notifications.

use std::{collections::HashSet, time::Duration};

use tokio::time::MissedTickBehavior;
use uuid::Uuid;

use super::{
    channels,
    state::{ListenerState, Unheard},
    wakes::Wakes,
};
use crate::database::{Database, Error, ListenAddress, Listener, Notification};

/// The channel of all changes. The payload is the ID of a log, or the name of a kind of work.
const CHANNEL: &str = "matins_wake";
/// The pause before the next attempt to connect.
const PAUSE: Duration = Duration::from_millis(500);

/// The heartbeat of the listening connection.
#[derive(Debug, Clone, Copy)]
struct Pulse {
    /// The interval of the heartbeat. Without a heartbeat, a connection whose server has vanished would stay silent
    /// forever.
    every: Duration,
    /// The maximum wait for a reply to a heartbeat, or to a change of the channels.
    answer: Duration,
}

const PULSE: Pulse = Pulse {
    every: Duration::from_secs(10),
    answer: Duration::from_secs(5),
};

/// Listens until the database is closed. Connects again whenever the connection is lost.
pub(super) async fn watch(wakes: &Wakes, database: &Database) {
    let listening = async {
        let Some(address) = database.listen_address() else {
            // No connection can listen through a pooler. Keep this task alive, because polling goes on beside it.
            wakes.state.unheard(Unheard::Pooler);
            return std::future::pending().await;
        };
        loop {
            wakes.state.unheard(Unheard::Lost);
            if let Err(error) = Box::pin(listen(wakes, &address, PULSE)).await {
                tracing::debug!(%error, "lost the connection that listens for changes");
            }
            wakes.state.unheard(Unheard::Lost);
            tokio::time::sleep(PAUSE).await;
        }
    };
    // `None` means that the database is closed.
    let _: Option<()> = database.while_open(listening).await;
}

/// Listens until the connection is lost. The next connection wakes all tasks, because notifications may have been
/// lost.
async fn listen(wakes: &Wakes, address: &ListenAddress, pulse: Pulse) -> Result<(), Error> {
    let mut listener = Listener::connect(address, pulse.answer).await?;
    listener.listen(CHANNEL).await?;
    let mut heard = HashSet::new();
    adjust(&mut listener, &mut heard, wakes).await?;
    wakes.state.set(ListenerState::Listening);
    // Wake all tasks for changes that were committed before the connection listened.
    wakes.wake_all();
    wakes.workers.signal_all();
    let mut heartbeat = tokio::time::interval(pulse.every);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeat.tick().await;
    loop {
        tokio::select! {
            notification = listener.next() => match notification? {
                Some(notification) => hear(wakes, &notification),
                None => return Ok(()),
            },
            () = wakes.channels.changed() => {
                let new = adjust(&mut listener, &mut heard, wakes).await?;
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
fn hear(wakes: &Wakes, notification: &Notification) {
    let payload = notification.payload();
    let log = match notification.channel() {
        CHANNEL => Uuid::try_parse(payload).ok(),
        channel => channels::session(channel),
    };
    match log {
        Some(log) => wakes.wake(&[log]),
        None => wakes.workers.call(payload),
    }
}

/// Listens to the channels of the sessions that have subscribers, and to no others, in one round trip. Returns the
/// sessions that are new.
async fn adjust(
    listener: &mut Listener,
    heard: &mut HashSet<Uuid>,
    wakes: &Wakes,
) -> Result<Vec<Uuid>, Error> {
    let wanted = wakes.channels.wanted();
    let new: Vec<Uuid> = wanted.difference(heard).copied().collect();
    let listen = new.iter().map(|session| channels::name(*session));
    let unlisten = heard.difference(&wanted);
    let unlisten = unlisten.map(|session| channels::name(*session));
    listener.adjust(listen, unlisten).await?;
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
        super::{mutex::lock, wakes::Sleeper, wanted::Wanted},
        *,
    };

    const SOCKET: &str = ".s.PGSQL.5432";
    const QUICK: Pulse = Pulse {
        every: Duration::from_millis(20),
        answer: Duration::from_millis(200),
    };

    /// Carries connections to a server until it is told to hold everything, and closes none.
    async fn carry(at: &Path, server: &Path, hold: watch::Receiver<bool>) {
        let socket = UnixListener::bind(at.join(SOCKET)).unwrap();
        loop {
            let (mut near, _) = socket.accept().await.unwrap();
            let mut far = UnixStream::connect(server.join(SOCKET)).await.unwrap();
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
        let carrier = tokio::spawn(async move { carry(&near, Path::new(&far), hold).await });
        let address: ListenAddress = format!("{address}?host={}", folder.display())
            .parse()
            .unwrap();
        let wakes = Wakes::default();
        let mut state = wakes.state.follow();
        let listening = async {
            // Until the carrier has its socket.
            loop {
                let lost = Box::pin(listen(&wakes, &address, QUICK)).await;
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
    async fn heard(sleeper: &Sleeper, pool: &PgPool, channel: Uuid, told: &mut u128) -> bool {
        *told += 1;
        let after = Uuid::from_u128(*told);
        let tell = [
            (channels::name(channel), String::new()),
            (CHANNEL.to_owned(), after.to_string()),
        ];
        for (channel, payload) in tell {
            let telling = sqlx::query("select pg_notify($1, $2)")
                .bind(channel)
                .bind(payload);
            telling.execute(pool).await.unwrap();
        }
        let mut woken = HashSet::new();
        while !woken.contains(&after) {
            sleeper.bell.notified().await;
            woken.extend(std::mem::take(&mut *lock(&sleeper.changed)).logs);
        }
        woken.contains(&channel)
    }

    #[tokio::test]
    async fn session_channel_is_listened_to_only_while_subscribed() {
        let database = TestDatabase::empty_postgres().unwrap();
        let address: ListenAddress = database.url().parse().unwrap();
        let pool = PgPool::connect(database.url()).await.unwrap();
        let wakes = Arc::new(Wakes::default());
        let sleeper = Arc::new(Sleeper::default());
        lock(&wakes.sleepers).all.push(Arc::clone(&sleeper));
        wakes.waiting.store(1, Ordering::SeqCst);
        let listening = listen(&wakes, &address, PULSE);
        let subscribing = async {
            let mut state = wakes.state.follow();
            let listens = |state: &ListenerState| *state == ListenerState::Listening;
            state.wait_for(listens).await.unwrap();
            // That it listens from now on wakes for everything.
            sleeper.bell.notified().await;
            lock(&sleeper.changed).everything = false;
            let (session, mut told) = (Uuid::from_u128(1), 1);
            assert!(!heard(&sleeper, &pool, session, &mut told).await);
            let first = Wanted::new(&wakes, session);
            let second = Wanted::new(&wakes, session);
            while !heard(&sleeper, &pool, session, &mut told).await {}
            drop(first);
            assert!(heard(&sleeper, &pool, session, &mut told).await);
            drop(second);
            while heard(&sleeper, &pool, session, &mut told).await {}
        };
        tokio::select! {
            ended = listening => panic!("{ended:?}"),
            () = subscribing => {}
        }
        pool.close().await;
    }
}
