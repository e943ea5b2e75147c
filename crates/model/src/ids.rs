//! Typed IDs: a UUIDv7 inside, and a prefix in the text form (`run_0199...`).
//!
//! **Invariant:** IDs of one type sort by the millisecond of their creation, and within it by the order in which a
//! process created them (until its counter of 24 bits wraps around), so that database indexes grow at their end.

use std::{
    fmt,
    str::FromStr,
    sync::atomic::{AtomicU32, Ordering},
};

use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid};

use crate::time::{Entropy, Timestamp};

/// The error for a text that is not an ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not {article} ID: expected `{prefix}_` and 32 hexadecimal digits",
    .given.escape_debug()
)]
pub struct InvalidId {
    given: String,
    article: &'static str,
    prefix: &'static str,
}

/// The number of IDs that this process has created.
static ID_COUNTER: AtomicU32 = AtomicU32::new(0);

/// Returns a time-ordered UUID (RFC 9562, version 7) of an instant, a counter of 24 bits and random bits.
///
/// The counter (section 6.2, method 1) orders the IDs of one millisecond, so that an index over them grows at its end
/// instead of in random places.
fn uuid_v7(now: Timestamp, entropy: &dyn Entropy) -> Uuid {
    let mut random = [0; 10];
    entropy.fill(&mut random);
    let [_, high, middle, low] = ID_COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    // The version takes the upper four bits of the first byte and the variant the upper two bits of the third. The
    // counter is shifted around them.
    random[0] = high >> 4;
    random[1] = (high << 4) | (middle >> 4);
    random[2] = (middle << 2) & 0x3C | low >> 6;
    random[3] = low << 2 | random[3] & 0x03;
    Builder::from_unix_timestamp_millis(millis(now), &random).into_uuid()
}

/// Returns the milliseconds since 1970 of an instant. Instants before 1970 count as 1970, because version 7 has no
/// sign.
fn millis(instant: Timestamp) -> u64 {
    u64::try_from(instant.as_microsecond() / 1000).unwrap_or(0)
}

/// The number of digits from which a text with a kind looks like an ID in a list.
const SHOWN_ID_DIGITS: usize = 8;

/// Returns `true` if a text has the form of an ID of any kind, in capital or small letters: a full one, with or without
/// the kind before the underscore, or a kind with the first digits of an ID of these years (`ses_01a222ad`), as lists show
/// IDs. A name of this form could be taken for the ID of another object.
pub fn has_id_form(text: &str) -> bool {
    match text.split_once('_') {
        Some((kind, rest)) if PREFIXES.iter().any(|it| it.eq_ignore_ascii_case(kind)) => {
            has_prefix_form(rest) || Uuid::try_parse(rest).is_ok()
        }
        _ => Uuid::try_parse(text).is_ok(),
    }
}

/// Returns `true` if a text has the form of the first digits of an ID, with or without hyphens: the IDs of the years 2004 to
/// 2039 begin with `01`. A shorter or another text is allowed, because keys such as `run_20261128` are common.
fn has_prefix_form(text: &str) -> bool {
    let digits = text.bytes().filter(|byte| *byte != b'-').count();
    (SHOWN_ID_DIGITS..=32).contains(&digits)
        && text.starts_with("01")
        && text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

macro_rules! typed_id {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal, $article:literal;)*) => {
        /// The kinds of IDs, as their text forms begin.
        const PREFIXES: &[&str] = &[$($prefix),*];
    $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The text before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// Creates an ID. Later IDs sort after earlier ones, with the precision of a millisecond of `now`.
            pub fn generate(now: Timestamp, entropy: &dyn Entropy) -> Self {
                Self(uuid_v7(now, entropy))
            }

            /// Returns the lowest ID of the millisecond of an instant. IDs that were created earlier are lower.
            pub fn first_at(instant: Timestamp) -> Self {
                Self(Builder::from_unix_timestamp_millis(millis(instant), &[0; 10]).into_uuid())
            }

            /// Returns the ID of a UUID from the database.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Returns the UUID for the database.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            /// Parses the text form, or a UUID without a prefix.
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let bare = text.strip_prefix(concat!($prefix, "_")).unwrap_or(text);
                Uuid::try_parse(bare).map(Self).map_err(|_| InvalidId {
                    given: text.chars().take(80).collect(),
                    article: $article,
                    prefix: $prefix,
                })
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $crate::schema::text(concat!("The ID of ", $article, "."))
                    .pattern(Some(concat!("^", $prefix, "_[0-9a-f]{32}$")))
                    .into()
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::ToSchema for $name {}

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

typed_id! {
    /// The ID of a tenant, which owns all other entities.
    TenantId = "ten", "a tenant";
    /// The ID of a configured agent.
    AgentId = "har", "an agent";
    /// The ID of an instance: the data folder of one machine, where agents run.
    InstanceId = "ins", "an instance";
    /// The ID of a session: a conversation with an agent.
    SessionId = "ses", "a session";
    /// The ID of a seat: one agent in a session, and a row of `agent_definitions`.
    SeatId = "seat", "a seat";
    /// The ID of an automation, which triggers fire.
    AutomationId = "aut", "an automation";
    /// The ID of a trigger: one condition that fires an automation.
    TriggerId = "trg", "a trigger";
    /// The ID of an input for a seat. All attempts at the input share it.
    InputId = "inp", "an input";
    /// The ID of a run: one attempt to execute one input.
    RunId = "run", "a run";
    /// The ID of a row of a transcript.
    MessageId = "msg", "a message";
    /// The ID of a task in the graph of a goal.
    TaskId = "task", "a task";
    /// The ID of an approval: a permission request that waits for a person.
    ApprovalId = "apr", "an approval";
    /// The ID of a memory entry.
    MemoryEntryId = "mem", "a memory entry";
    /// The ID of a question of an agent to a person.
    QuestionId = "que", "a question";
    /// The ID of an artifact: one version of a file or an address that an agent handed in.
    ArtifactId = "art", "an artifact";
    /// The ID of a token, which gives its bearer a role in a tenant.
    TokenId = "tok", "a token";
    /// The ID of an endpoint, which receives notifications.
    EndpointId = "end", "an endpoint";
    /// The ID of a delivery of a notification to an endpoint.
    DeliveryId = "dlv", "a delivery";
}

/// The ID that an agent gave to its own session. The ID is opaque: Matins never parses it, and never compares IDs of
/// different agents, instances or working directories.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct AcpSessionId(String);

impl AcpSessionId {
    /// Returns the ID of a text that the agent sent.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Returns the text that the agent sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AcpSessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a worker: `<hostname>-<pid>-<random8>`. Each claimed run has one worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct WorkerId(String);

impl WorkerId {
    /// Creates the name of a worker in the process `pid` on `hostname`.
    pub fn generate(hostname: &str, pid: u32, entropy: &dyn Entropy) -> Self {
        let mut random = [0; 4];
        entropy.fill(&mut random);
        Self(format!(
            "{hostname}-{pid}-{:08x}",
            u32::from_be_bytes(random)
        ))
    }

    /// Returns the name of a stored text.
    pub fn from_stored(name: String) -> Self {
        Self(name)
    }

    /// Returns the text for the database.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Zeros;

    impl Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(micros).unwrap()
    }

    #[test]
    fn worker_id_has_host_pid_and_random_part() {
        let worker = WorkerId::generate("laptop", 4711, &Zeros);
        assert_eq!(worker.as_str(), "laptop-4711-00000000");
    }

    #[test]
    fn id_parses_its_own_display() {
        let id = RunId::generate(at(1_700_000_000_000_000), &Zeros);
        assert!(id.to_string().starts_with("run_018bcfe568007"), "{id}");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.uuid().to_string().parse(), Ok(id));
    }

    #[test]
    fn full_id_of_any_kind_has_id_form() {
        let uuid = RunId::generate(at(1_700_000_000_000_000), &Zeros).uuid();
        let simple = uuid.simple().to_string();
        for prefix in PREFIXES {
            let id = format!("{prefix}_{simple}");
            for text in [
                id.to_uppercase(),
                format!("{}_{simple}", prefix.to_uppercase()),
                format!("{prefix}_{uuid}"),
                id,
            ] {
                assert!(has_id_form(&text), "{text}");
            }
        }
        assert!(has_id_form(&simple) && has_id_form(&uuid.to_string().to_uppercase()));
        for text in [
            "",
            "run",
            "run_",
            "run_1",
            "run_019",
            "run_0199ab0",
            "run_01a222adx",
            "run_20261128",
            "task_list",
            "foo_0199ab",
            "0199ab",
            &format!("run_{simple}0"),
            "face",
            "daily_news",
            &format!("web:{uuid}"),
            &format!("foo_{simple}"),
            &format!("run_run_{simple}"),
            &format!("{simple}0"),
        ] {
            assert!(!has_id_form(text), "{text}");
        }
    }

    #[test]
    fn kind_with_first_digits_has_id_form() {
        for prefix in PREFIXES {
            for digits in [
                "01a222ad",
                "01a222adb432",
                "01A222ADB432",
                "01a222ad-b432-7",
            ] {
                let short = format!("{prefix}_{digits}");
                assert!(has_id_form(&short), "{short}");
                assert!(has_id_form(&short.to_uppercase()), "{short}");
            }
        }
    }

    #[test]
    fn ids_of_one_millisecond_sort_by_creation() {
        let ids: Vec<RunId> = (0..100_000)
            .map(|_| RunId::generate(at(1_700_000_000_000_000), &Zeros))
            .collect();
        assert!(ids.is_sorted_by(|earlier, later| earlier < later));
        let version = ids.iter().map(|id| id.uuid().get_version_num());
        assert!(version.eq(std::iter::repeat_n(7, ids.len())));
    }

    #[test]
    fn id_of_another_type_is_refused_by_name() {
        let seat = SeatId::generate(at(0), &Zeros).to_string();
        let error = seat.parse::<RunId>().unwrap_err().to_string();
        assert!(
            error.contains("a run ID") && error.contains("run_"),
            "{error}"
        );
    }

    #[test]
    fn ids_sort_by_time() {
        assert!(RunId::generate(at(2_000_000), &Zeros) > RunId::generate(at(1_000_000), &Zeros));
        let first = RunId::first_at(at(2_000_000));
        assert!(RunId::generate(at(1_999_999), &Zeros) < first);
        assert!(RunId::generate(at(2_000_000), &Zeros) >= first);
    }
}
