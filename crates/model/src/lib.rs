//! The nouns, states and decisions of Matins.
//!
//! **Invariant:** no I/O, no `async`; never reads a clock, randomness or the environment. What
//! depends on time or chance takes a [`Timestamp`], a [`Clock`] or an [`Entropy`].

pub mod ids;
pub mod permission;
pub mod prompt;
pub mod schedule;
pub mod time;

pub use ids::*;
pub use time::{Clock, Entropy, Timestamp};
