//! Limits in one place, each with its unit, and the relations that must hold between them.

use std::time::Duration;

/// How late the latest due instant may be and still count as on time.
pub const FIRE_GRACE: Duration = Duration::from_mins(1);

/// How many occurrences of one trigger one look at it makes at the most.
pub const OCCURRENCES_PER_FIRE: usize = 100;

/// How many due triggers one transaction takes at the most.
pub const TRIGGERS_PER_FIRE: u32 = 1000;

/// How many turns run at once by default.
pub const WORKERS: u32 = 4;

/// How many turns that wait for people lend their slots to others by default.
pub const WAITING_TURNS: u32 = WORKERS;

/// The port at which a server listens by default.
pub const LISTEN_PORT: u16 = 7347;

/// How long running turns may take to end when a server stops, by default.
pub const STOP_DEADLINE: Duration = Duration::from_secs(30);

/// How many heartbeats must fit into the age at which one is stale.
pub const BEATS_BEFORE_STALE: u32 = 3;

/// The default period of a running run's heartbeat.
pub const HEARTBEAT: Duration = Duration::from_secs(20);

/// The default age at which a heartbeat is stale and its run is given up.
pub const HEARTBEAT_STALE: Duration = Duration::from_mins(3);

/// How long before its heartbeat would be stale an agent's tree is killed by its guard.
pub const LEASE_MARGIN: Duration = Duration::from_secs(10);

/// How far the time of a fleet may be from what a process holds it for, before it judges nothing by it any
/// more: nothing is fired, claimed or given up.
pub const CLOCK_UNCERTAINTY: Duration = Duration::from_secs(5);

/// How far two clocks that nobody sets may drift apart in a second, in microseconds: twice of what clocks are
/// slewed by at the most (adjtimex(2)), and both may be.
pub const CLOCK_DRIFT_MICROS: u32 = 1000;

/// By how much corrections may have the time stand still; by more, it goes back at once.
pub const CLOCK_HOLD: Duration = Duration::from_secs(1);

/// How often the database's clock is read.
pub const CLOCK_READ: Duration = Duration::from_secs(10);

/// How often it is read while the time is not known.
pub const CLOCK_READ_AGAIN: Duration = Duration::from_secs(1);

/// The default longest sleep of the scheduler: a net below the wake-ups.
pub const TICK: Duration = Duration::from_secs(30);

/// The longest that any loop sleeps without looking at the clock again: timers stand still while a
/// machine sleeps, and clocks are set.
pub const SLEEP_SLICE: Duration = Duration::from_secs(1);

/// The default period of the watchdog.
pub const WATCHDOG: Duration = Duration::from_mins(1);

/// How often a server shows that it is there, where others look at the same database.
pub const PRESENCE: Duration = Duration::from_secs(20);

/// How long a server may show nothing and still count as there.
pub const SERVER_AWAY: Duration = Duration::from_mins(2);

const _: () = assert!(PRESENCE.as_secs() * 3 <= SERVER_AWAY.as_secs());

/// How long the internal record of a run is kept after its end, unless somebody says otherwise.
pub const RETAIN_RECORDS: Duration = Duration::from_hours(30 * 24);

/// How long the events of a session's log are kept, unless somebody says otherwise.
pub const RETAIN_EVENTS: Duration = Duration::from_hours(90 * 24);

/// How long after its end whatever a run left behind in passing may be there: its end removes it, and
/// this is the net below.
pub const LEFTOVERS: Duration = Duration::from_hours(1);

/// How long the answer to a request is kept for the same request repeated.
pub const RETAIN_ANSWERS: Duration = Duration::from_hours(24);

/// How long it is kept what was used on a day: longer than the month that it belongs to.
pub const RETAIN_SPENDING: Duration = Duration::from_hours(62 * 24);

/// How long what signed a browser in is kept after its end.
pub const RETAIN_SIGN_INS: Duration = Duration::from_hours(7 * 24);

/// How often the use of a token is noted at the most.
pub const TOKEN_USE_NOTED: Duration = Duration::from_mins(1);

/// How often what is old is looked for.
pub const HOUSEKEEPING: Duration = Duration::from_hours(1);

/// The pause between two pieces of what is old.
pub const HOUSEKEEPING_PAUSE: Duration = Duration::from_millis(250);

/// The longest text that a person or an automation may send, in bytes.
pub const CONTENT_BYTES: usize = 1 << 20;

/// The longest name of anything, in bytes.
pub const NAME_BYTES: usize = 200;

/// The longest assistant text that is kept of one turn, in bytes; the rest is cut and said so.
pub const ANSWER_BYTES: usize = 4 << 20;

/// How much of one turn's tool calls, thoughts and plans the transcript keeps at the most, in bytes.
/// What comes after it is kept without its inputs and outputs.
pub const TURN_BYTES: usize = 16 << 20;

/// The longest title of a tool call or a permission request that is kept, in bytes.
pub const TITLE_BYTES: usize = 4 << 10;

/// The longest error that is shown to people, in bytes; the run record keeps
/// [`ERROR_RECORD_BYTES`] of it.
pub const ERROR_BYTES: usize = 2 << 10;

/// The longest error that the run record keeps, in bytes.
pub const ERROR_RECORD_BYTES: usize = 64 << 10;

/// How many updates of one turn (tool calls, plans) the transcript keeps at the most.
pub const UPDATES_PER_TURN: usize = 10_000;

/// How far the instant that a webhook bears may lie from the present, either way.
pub const WEBHOOK_TOLERANCE: Duration = Duration::from_mins(5);

/// The longest payload of a webhook that is taken, in bytes.
pub const WEBHOOK_PAYLOAD_BYTES: usize = 64 << 10;

/// The longest id of a webhook that is taken, in bytes.
pub const WEBHOOK_ID_BYTES: usize = 256;

/// How long the id of a received webhook is kept: a replay of it is known for so long.
pub const WEBHOOK_RECEIPTS: Duration = Duration::from_hours(24);

/// How often a notification is tried before it is given up.
pub const DELIVERY_ATTEMPTS: i64 = 10;

/// The pause after the first attempt at a notification that failed; it doubles.
pub const DELIVERY_BACKOFF: Duration = Duration::from_secs(5);

/// The longest pause between two attempts at a notification.
pub const DELIVERY_BACKOFF_MAX: Duration = Duration::from_hours(1);

/// How long the receiver of a notification may take to answer.
pub const DELIVERY_LIMIT: Duration = Duration::from_secs(10);

/// How many notifications one endpoint is sent before another one has its turn.
pub const DELIVERIES_AT_ONCE: u32 = 8;

/// How long whoever sends notifications may be silent before they are sent again by somebody else.
pub const DELIVERY_LEASE: Duration = Duration::from_mins(2);

/// How many endpoints are sent notifications at the same time.
pub const ENDPOINTS_AT_ONCE: usize = 64;

/// How often the feed is read for the endpoints of notifications.
pub const NOTIFY: Duration = Duration::from_secs(1);

/// How long nothing may have arrived at an endpoint before one that gives up disables it.
pub const ENDPOINT_FAILING: Duration = Duration::from_hours(24);

/// How long the log of a delivery that is over is kept.
pub const DELIVERY_LOG: Duration = Duration::from_hours(30 * 24);

/// The longest address of an endpoint of notifications, in bytes.
pub const URL_BYTES: usize = 2 << 10;

/// How much of a tool's input a permission request keeps that waits for a person, in bytes.
pub const APPROVAL_INPUT_BYTES: usize = 16 << 10;

/// The longest comment on a decision, in bytes.
pub const APPROVAL_COMMENT_BYTES: usize = 4 << 10;

/// How many permission requests of one turn wait for a person at the same time; what is beyond is denied.
pub const ASKED_AT_ONCE: usize = 16;

const _: () = assert!(HEARTBEAT.as_secs() * BEATS_BEFORE_STALE as u64 <= HEARTBEAT_STALE.as_secs());
const _: () = assert!(LEASE_MARGIN.as_secs() * 3 <= HEARTBEAT_STALE.as_secs());
// Whose heartbeat it is, and who judges it, may both be wrong, one this way and one that way.
const _: () = assert!(CLOCK_UNCERTAINTY.as_secs() * 2 <= LEASE_MARGIN.as_secs());
const _: () = assert!(SLEEP_SLICE.as_millis() <= TICK.as_millis());
const _: () = assert!(TICK.as_secs() <= FIRE_GRACE.as_secs());
// An instant at the end of what is tolerated stays acceptable for twice the tolerance.
const _: () = assert!(WEBHOOK_RECEIPTS.as_secs() >= 4 * WEBHOOK_TOLERANCE.as_secs());
const _: () =
    assert!(DELIVERY_LIMIT.as_secs() * (DELIVERIES_AT_ONCE as u64) < DELIVERY_LEASE.as_secs());
