//! The choice of the points at which a test aborts processes.
//!
//! On SQLite, each test plays every point. On PostgreSQL, `MATINS_CRASH_SHARD=K/N` chooses every Nth one, from the Kth on,
//! and the points around each commit of a transition. `scripts/test` chooses K by the commit, so that successive commits
//! play other points; `scripts/test-long` plays all of them.

use std::fmt::Debug;

use futures::future::BoxFuture;

use crate::{
    child::ChildEnd,
    stage::{Database, TestBed},
};

/// The number of no point: a process that is to be aborted there reaches its end.
pub(crate) const NO_POINT: u64 = u64::MAX;

/// Every `count`-th point, from `first` on. Points count from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shard {
    first: u64,
    count: u64,
}

impl Shard {
    /// Returns the points that a test of this database plays.
    pub(crate) fn of(database: Database) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "scripts choose the points of a run"
        )]
        let value = std::env::var("MATINS_CRASH_SHARD").ok();
        match (database, value) {
            (Database::Postgres, Some(value)) => Self::parse(&value).unwrap_or_else(|| {
                panic!("invalid `MATINS_CRASH_SHARD` `{value}`: K/N is expected, such as 0/3")
            }),
            _ => Self { first: 0, count: 1 },
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (first, count) = text.split_once('/')?;
        let (first, count) = (first.parse().ok()?, count.parse().ok()?);
        (first < count).then_some(Self { first, count })
    }

    /// Returns `true` if the point with this number is played.
    pub(crate) fn has(self, point: u64) -> bool {
        point % self.count == self.first
    }

    /// Returns `true` if the point of a transition is played: by its number, or because its name is that of a commit,
    /// whose effect depends on the database.
    pub(crate) fn has_named(self, point: u64, name: &str) -> bool {
        self.has(point) || name == "commit" || name == "committed"
    }
}

/// Calls `abort` with each point of a transition that a test of this database plays. The first process reaches its end, so that
/// the points are known.
pub(crate) async fn play_points(
    transition: &(impl Debug + Sync),
    database: Database,
    abort: impl Fn(&mut TestBed, u64) -> BoxFuture<'_, ChildEnd> + Sync,
) {
    let mut stage = TestBed::new(database).await;
    let ended = abort(&mut stage, NO_POINT).await;
    let count = ended.points.len();
    assert!(!ended.aborted && count >= 3, "{transition:?}: {ended:?}");
    println!(
        "{transition:?} on {database:?}: {count} points: {:?}",
        ended.points
    );
    let shard = Shard::of(database);
    for (name, point) in ended.points.iter().zip(1..) {
        if shard.has_named(point, name) {
            let died = abort(&mut stage, point).await;
            assert!(died.aborted, "point {point}, {name}: {:?}", died.points);
            assert_eq!(died.points.len() as u64, point);
        }
    }
}

#[test]
fn shards_divide_points_and_share_commits() {
    let shards = ["0/3", "1/3", "2/3"].map(|text| Shard::parse(text).unwrap());
    for point in 1..=9 {
        let playing = shards.iter().filter(|shard| shard.has(point));
        assert_eq!(playing.count(), 1, "{point}");
        assert!(shards.iter().all(|shard| shard.has_named(point, "commit")));
    }
    for text in ["3/3", "1", "/3", "0/0"] {
        assert!(Shard::parse(text).is_none(), "{text}");
    }
}
