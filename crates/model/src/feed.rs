//! Cursors in the feed, which merges the logs of all sessions and automations of a tenant.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A position in a tenant's feed, right after one event.
///
/// The feed orders events by the transaction that wrote them, then by log, then by the number in the log. A reader
/// gets only events of transactions before the oldest open one, so that no event appears later before a cursor that a
/// client has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedCursor {
    /// The number of the transaction that wrote the event.
    pub transaction: i64,
    /// The log of the event: the ID of a session or of an automation.
    pub log: Uuid,
    /// The number of the event in its log.
    pub seq: i64,
}

impl FeedCursor {
    /// The position before all events.
    pub const START: Self = Self::before(0);

    /// Returns the position before the events of a transaction, and after the events of all transactions with lower
    /// numbers.
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

/// The error for a text that is not a cursor of a feed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a cursor of a feed: expected the ID of an event of that feed, such as \
     812.0197f3c2a9d07cc1a1b2c3d4e5f60718.14",
    .given.escape_debug()
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
        // Accept only the form that `Display` writes, so that one position has one text. `Uuid::try_parse` alone
        // would also accept hyphens.
        let log = Some(log).filter(|log| log.len() == 32);
        let log = log.and_then(|log| Uuid::try_parse(log).ok());
        Ok(Self {
            transaction: number(transaction).ok_or_else(invalid)?,
            log: log.ok_or_else(invalid)?,
            seq: number(seq).ok_or_else(invalid)?,
        })
    }
}

/// Reads a number that consists of digits only, because `parse` alone would accept a plus sign.
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
    fn feed_cursor_parses_its_own_display() {
        let cursor = FeedCursor {
            transaction: 812,
            log: Uuid::from_u128(7),
            seq: 14,
        };
        assert_eq!(
            cursor.to_string(),
            "812.00000000000000000000000000000007.14"
        );
        for cursor in [cursor, FeedCursor::START, FeedCursor::before(i64::MAX)] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
            let json = serde_json::to_string(&cursor).unwrap();
            assert_eq!(serde_json::from_str::<FeedCursor>(&json).unwrap(), cursor);
        }
    }

    #[test]
    fn invalid_feed_cursor_is_refused_with_expected_form() {
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
                refused.starts_with(&format!("`{text}` is not")),
                "{refused}"
            );
            assert!(refused.contains("expected the ID of an event"), "{refused}");
        }
    }

    #[test]
    fn feed_cursors_sort_by_transaction_log_and_number() {
        let cursor = |transaction, log, seq| FeedCursor {
            transaction,
            log: Uuid::from_u128(log),
            seq,
        };
        let ordered = [
            FeedCursor::START,
            cursor(0, 1, 1),
            FeedCursor::before(1),
            cursor(1, 1, 9),
            cursor(1, 2, 1),
            cursor(1, 2, 2),
            FeedCursor::before(2),
        ];
        assert!(ordered.is_sorted_by(|earlier, later| earlier < later));
    }
}
