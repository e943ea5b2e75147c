//! Limits and default intervals, each with its unit, and assertions on the relations between them.

use std::time::Duration;

/// The longest delay with which the latest due instant of a trigger counts as on time.
pub const FIRE_GRACE: Duration = Duration::from_mins(1);

/// The maximum number of occurrences of one trigger that one poll creates.
pub const OCCURRENCES_PER_FIRE: usize = 100;

/// The maximum number of due triggers in one transaction.
pub const TRIGGERS_PER_FIRE: u32 = 1000;

/// The maximum number of triggers in one transaction whose next instants new zone rules compute again.
pub const TRIGGERS_PER_RECOMPUTATION: u32 = 500;

/// The default number of turns that run at the same time.
pub const DEFAULT_WORKERS: u32 = 4;

/// The default number of turns that may release their worker slot while they wait for an approval.
pub const DEFAULT_WAITING_TURNS: u32 = DEFAULT_WORKERS;

/// The default port of the server.
pub const LISTEN_PORT: u16 = 7347;

/// The default time that running turns have to end when a server stops.
pub const STOP_DEADLINE: Duration = Duration::from_secs(30);

/// The minimum number of heartbeat periods that the age of a stale heartbeat must span, so that one lost heartbeat
/// does not fail a run.
pub const HEARTBEATS_BEFORE_STALE: u32 = 3;

/// The default period of a run's heartbeat.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(20);

/// The default age at which a heartbeat is stale and the watchdog gives up its run.
pub const HEARTBEAT_STALE_AFTER: Duration = Duration::from_mins(3);

/// The time between the end of a lease and the age at which its heartbeat is stale; less if a quarter of that age is
/// less. The guard kills the agent's processes when the lease ends, so that they are dead before another worker starts
/// the next attempt.
pub const LEASE_MARGIN: Duration = Duration::from_secs(10);

/// The maximum uncertainty of a process about the fleet's time. Above it, the process does not fire triggers, claim
/// runs or give up runs of other workers.
pub const MAX_CLOCK_UNCERTAINTY: Duration = Duration::from_secs(5);

/// The assumed drift between two clocks that run freely, in microseconds per second: twice the maximum rate at which
/// a clock is slewed (adjtimex(2)), because both may be slewed.
pub const CLOCK_DRIFT_MICROS_PER_SECOND: u32 = 1000;

/// The largest backward correction for which the time stands still. A larger correction moves the time back at once.
pub const MAX_CLOCK_STANDSTILL: Duration = Duration::from_secs(1);

/// The period in which a server reads the database's clock.
pub const CLOCK_READ_INTERVAL: Duration = Duration::from_secs(10);

/// The period in which a server reads the database's clock while the time is uncertain.
pub const UNCERTAIN_CLOCK_READ_INTERVAL: Duration = Duration::from_secs(1);

/// The default maximum sleep of the scheduler. Change notifications wake the scheduler earlier; this poll is the
/// safety net for lost ones.
pub const SCHEDULER_POLL_INTERVAL: Duration = Duration::from_secs(30);

/// The longest sleep of any loop before it checks the clock again, because timers stand still while a machine sleeps,
/// and because clocks can be set.
pub const SLEEP_SLICE: Duration = Duration::from_secs(1);

/// The default period of the watchdog.
pub const WATCHDOG_INTERVAL: Duration = Duration::from_mins(1);

/// The period in which a server updates its presence in a database that several servers share.
pub const PRESENCE_INTERVAL: Duration = Duration::from_secs(20);

/// The age of a server's last presence update from which other servers count it as offline.
pub const SERVER_OFFLINE_AFTER: Duration = Duration::from_mins(2);

// Several updates fit into the age, so that one failed update does not make a server look offline.
const _: () = assert!(PRESENCE_INTERVAL.as_secs() * 3 <= SERVER_OFFLINE_AFTER.as_secs());

/// The time after which a run fails that every online server has refused, because none has the directory of its
/// session.
pub const DIRECTORY_WAIT: Duration = Duration::from_mins(10);

// A server that comes online, such as after an upgrade, gets the time to refuse the run or to take it.
const _: () = assert!(SERVER_OFFLINE_AFTER.as_secs() < DIRECTORY_WAIT.as_secs());

/// The time limit of the check whether a directory exists, and of the creation and the removal of a session's own folder. If a
/// file server does not answer, its directory counts as missing, the turn in its folder fails, and the folder of a deleted
/// session stays.
pub const DIRECTORY_CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The default time for which the internal record of a run is kept after the run's end.
pub const RETAIN_RECORDS: Duration = Duration::from_hours(30 * 24);

/// The default time for which the events of the logs of sessions and automations are kept.
pub const RETAIN_EVENTS: Duration = Duration::from_hours(90 * 24);

/// The age after which housekeeping removes heartbeats and live text of runs that have ended. The end of a run
/// removes them at once; housekeeping is the safety net.
pub const RETAIN_LEFTOVERS: Duration = Duration::from_hours(1);

/// The time for which a content of an artifact is kept to which no artifact refers. The row of an artifact is committed
/// within moments after its content is stored; a save that takes longer holds the lock of the folder.
pub const RETAIN_UNREFERENCED_CONTENT: Duration = Duration::from_hours(1);

/// The time for which the response to a request with an idempotency key is kept.
pub const RETAIN_RESPONSES: Duration = Duration::from_hours(24);

/// The time for which the usage of a day is kept: longer than a month, because monthly budgets add up days.
pub const RETAIN_USAGE: Duration = Duration::from_hours(62 * 24);

/// The time for which sign-in links and browsers' tokens are kept after they ended.
pub const RETAIN_SIGN_INS: Duration = Duration::from_hours(7 * 24);

/// The minimum interval between two writes of a token's last use.
pub const TOKEN_USE_WRITE_INTERVAL: Duration = Duration::from_mins(1);

/// The period of housekeeping.
pub const HOUSEKEEPING_INTERVAL: Duration = Duration::from_hours(1);

/// The pause between two batches of housekeeping.
pub const HOUSEKEEPING_PAUSE: Duration = Duration::from_millis(250);

/// The longest text of a message or an automation's prompt, in bytes.
pub const CONTENT_BYTES: usize = 1 << 20;

/// The maximum number of seats of a session.
pub const SEATS_PER_SESSION: usize = 16;

/// The longest name or role of a seat, in characters.
pub const SEAT_NAME_CHARS: usize = 40;

/// The longest instructions of a seat, in bytes.
pub const INSTRUCTIONS_BYTES: usize = 16 * 1024;

/// The longest name of an entity, in bytes.
pub const NAME_BYTES: usize = 200;

/// The longest answer that is kept of one turn, in bytes. The rest is cut, and the transcript gets a notice.
pub const ANSWER_BYTES: usize = 4 << 20;

/// The maximum size of tool calls, thoughts and plans that the transcript keeps of one turn, in bytes. Beyond it,
/// thoughts are dropped, and tool calls and plans are kept without their inputs, outputs, contents, files and steps.
pub const TURN_BYTES: usize = 16 << 20;

/// The longest title of a tool call or a permission request, in bytes. Longer ones are cut.
pub const TITLE_BYTES: usize = 4 << 10;

/// The longest error that people see, in bytes. The run record keeps up to [`ERROR_RECORD_BYTES`].
pub const ERROR_BYTES: usize = 2 << 10;

/// The longest error in a run record, in bytes.
pub const ERROR_RECORD_BYTES: usize = 64 << 10;

/// The maximum number of transcript rows that the tool calls, thoughts, plans, permission requests and notices of one turn
/// write. Further rows are dropped.
pub const UPDATES_PER_TURN: usize = 10_000;

/// The maximum difference between the timestamp of a received webhook and the present, in both directions.
pub const WEBHOOK_TOLERANCE: Duration = Duration::from_mins(5);

/// The longest accepted payload of a webhook, in bytes.
pub const WEBHOOK_PAYLOAD_BYTES: usize = 64 << 10;

/// The longest accepted ID of a webhook, in bytes.
pub const WEBHOOK_ID_BYTES: usize = 256;

/// The time for which the ID of a received webhook is kept, so that a replay is detected.
pub const RETAIN_WEBHOOK_IDS: Duration = Duration::from_hours(24);

/// The maximum number of attempts at one delivery of a notification.
pub const DELIVERY_ATTEMPTS: i64 = 10;

/// The pause after the first failed attempt at a delivery. Each further attempt doubles the pause.
pub const DELIVERY_BACKOFF: Duration = Duration::from_secs(5);

/// The longest pause between two attempts at a delivery.
pub const DELIVERY_BACKOFF_MAX: Duration = Duration::from_hours(1);

/// The time limit of one request to the receiver of a notification.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of deliveries that one claim takes for one endpoint, so that other endpoints get their turn.
pub const DELIVERIES_PER_CLAIM: u32 = 8;

/// The lease of a claim on deliveries. After the lease expires, another server may claim and send them again.
pub const DELIVERY_LEASE: Duration = Duration::from_mins(2);

/// The maximum number of endpoints that one server sends to at the same time.
pub const CONCURRENT_ENDPOINTS: usize = 64;

/// The maximum number of trigger files that one claim of a dispatcher takes.
pub const TRIGGER_FILES_PER_CLAIM: u32 = 64;

/// The time limit for writing one trigger file.
pub const TRIGGER_FILE_TIMEOUT: Duration = Duration::from_secs(30);

/// The lease of a claim on trigger files. After the lease expires, another server may write them again.
pub const TRIGGER_FILE_LEASE: Duration = Duration::from_mins(1);

/// The time after which a dispatcher looks again for the file of a run whose turn has not begun, and writes it again if
/// it is no longer there.
pub const REDELIVER_AFTER: Duration = Duration::from_mins(10);

/// The pause after the first failed attempt to write a trigger file. Each further failure doubles the pause.
pub const TRIGGER_FILE_BACKOFF: Duration = Duration::from_secs(1);

/// The longest pause between two attempts to write a trigger file.
pub const TRIGGER_FILE_BACKOFF_MAX: Duration = Duration::from_mins(5);

/// The period in which the notifier polls the feed.
pub const NOTIFIER_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The time without any success after which a delivery that is given up disables its endpoint.
pub const DISABLE_ENDPOINT_AFTER: Duration = Duration::from_hours(24);

/// The age from which a delivery that is over is removed, counted from the creation of the delivery.
pub const RETAIN_DELIVERIES: Duration = Duration::from_hours(30 * 24);

/// The longest address of an endpoint, in bytes.
pub const URL_BYTES: usize = 2 << 10;

/// The longest input of a tool that lists show in an approval, in bytes. Of a longer input, they show the beginning.
pub const APPROVAL_INPUT_BYTES: usize = 16 << 10;

/// The longest input of a tool that an approval keeps, in bytes. A longer input is cut.
pub const APPROVAL_LONG_INPUT_BYTES: usize = 1 << 20;

const _: () = assert!(APPROVAL_INPUT_BYTES < APPROVAL_LONG_INPUT_BYTES);

/// The longest comment on a decision about an approval, in bytes.
pub const APPROVAL_COMMENT_BYTES: usize = 4 << 10;

/// The maximum number of approvals of one turn that wait at the same time. Further requests are denied.
pub const PENDING_APPROVALS_PER_TURN: usize = 16;

const _: () = assert!(
    HEARTBEAT_INTERVAL.as_secs() * HEARTBEATS_BEFORE_STALE as u64
        <= HEARTBEAT_STALE_AFTER.as_secs()
);
const _: () = assert!(LEASE_MARGIN.as_secs() * 3 <= HEARTBEAT_STALE_AFTER.as_secs());
// The worker that sends a heartbeat and the watchdog that judges it may be wrong in opposite directions, each by the
// maximum uncertainty.
const _: () = assert!(MAX_CLOCK_UNCERTAINTY.as_secs() * 2 <= LEASE_MARGIN.as_secs());
const _: () = assert!(SLEEP_SLICE.as_millis() <= SCHEDULER_POLL_INTERVAL.as_millis());
const _: () = assert!(SCHEDULER_POLL_INTERVAL.as_secs() <= FIRE_GRACE.as_secs());
// A webhook that is signed with a timestamp at the future end of the tolerance stays acceptable for twice the
// tolerance, so that its ID must be kept at least as long.
const _: () = assert!(RETAIN_WEBHOOK_IDS.as_secs() >= 4 * WEBHOOK_TOLERANCE.as_secs());
const _: () =
    assert!(DELIVERY_TIMEOUT.as_secs() * (DELIVERIES_PER_CLAIM as u64) < DELIVERY_LEASE.as_secs());
const _: () = assert!(TRIGGER_FILE_TIMEOUT.as_secs() < TRIGGER_FILE_LEASE.as_secs());
