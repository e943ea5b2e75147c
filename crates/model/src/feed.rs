//! Places in the feed of all that a tenant may see.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A place in a tenant's feed: right after one event.
///
/// Events are in the order of the transactions that wrote them, and within one in that of their logs and
/// numbers. The order follows commits: what is written later never comes before a place that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedCursor {
    /// The number of the transaction that wrote the event.
    pub transaction: i64,
    /// The event's log: that of a session or of an automation.
    pub log: Uuid,
    /// The event's number in its log.
    pub seq: i64,
}

impl FeedCursor {
    /// Before everything.
    pub const START: Self = Self::before(0);

    /// Before whatever a transaction wrote, and after all transactions of lower numbers.
    pub const fn before(transaction: i64) -> Self {
        Self {
            transaction,
            log: Uuid::nil(),
            seq: 0,
        }
    }
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.transaction, self.log.simple(), self.seq)
    }
}

/// Why a text is no place in a feed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is not a place in a feed: expected the id of an event of that feed, like \
     812.0197f3c2a9d07cc1a1b2c3d4e5f60718.14"
)]
pub struct InvalidFeedCursor {
    given: String,
}

impl FromStr for FeedCursor {
    type Err = InvalidFeedCursor;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidFeedCursor {
            given: text.chars().take(80).collect(),
        };
        let mut parts = text.split('.');
        let (Some(transaction), Some(log), Some(seq), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(invalid());
        };
        // Only what is shown is read: one place has one text.
        let log = Some(log).filter(|log| log.len() == 32);
        let log = log.and_then(|log| Uuid::try_parse(log).ok());
        Ok(Self {
            transaction: number(transaction).ok_or_else(invalid)?,
            log: log.ok_or_else(invalid)?,
            seq: number(seq).ok_or_else(invalid)?,
        })
    }
}

/// Reads a number of a log or of a transaction: digits alone.
fn number(text: &str) -> Option<i64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

impl Serialize for FeedCursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FeedCursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_shown() {
        let place = FeedCursor {
            transaction: 812,
            log: Uuid::from_u128(7),
            seq: 14,
        };
        assert_eq!(place.to_string(), "812.00000000000000000000000000000007.14");
        for place in [place, FeedCursor::START, FeedCursor::before(i64::MAX)] {
            assert_eq!(place.to_string().parse(), Ok(place));
            let json = serde_json::to_string(&place).unwrap();
            assert_eq!(serde_json::from_str::<FeedCursor>(&json).unwrap(), place);
        }
    }

    #[test]
    fn what_is_no_place_is_refused_with_what_is_expected() {
        for text in [
            "",
            "7",
            "1.2.3",
            "1.00000000000000000000000000000007",
            "1.00000000000000000000000000000007.1.1",
            "-1.00000000000000000000000000000007.1",
            "+1.00000000000000000000000000000007.1",
            "1.00000000-0000-0000-0000-000000000007.1",
            "1.00000000000000000000000000000007.99999999999999999999",
            " 1.00000000000000000000000000000007.1",
        ] {
            let refused = text.parse::<FeedCursor>().unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("{text:?} is not")),
                "{refused}"
            );
            assert!(refused.contains("expected the id of an event"), "{refused}");
        }
    }

    #[test]
    fn places_are_ordered_by_transaction_then_log_then_number() {
        let place = |transaction, log, seq| FeedCursor {
            transaction,
            log: Uuid::from_u128(log),
            seq,
        };
        let ordered = [
            FeedCursor::START,
            place(0, 1, 1),
            FeedCursor::before(1),
            place(1, 1, 9),
            place(1, 2, 1),
            place(1, 2, 2),
            FeedCursor::before(2),
        ];
        assert!(ordered.is_sorted_by(|one, other| one < other));
    }
}
