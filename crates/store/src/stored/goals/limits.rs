//! The document `goals.limits`.

use model::goal::Limits;
use serde::{Deserialize, Serialize};

use crate::stored::{BoxError, Document};

/// Declares the document of the limits. A limit that an earlier program has not written has its default.
macro_rules! stored_limits {
    ($($limit:ident),* $(,)?) => {
        /// The limits of a goal, as its row holds them.
        #[derive(Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub(crate) struct StoredLimits { $($limit: Option<u32>,)* }

        impl Document for StoredLimits {
            type Domain = Limits;

            fn of(limits: &Limits) -> Self {
                Self { $($limit: Some(limits.$limit),)* }
            }

            fn into_domain(self) -> Result<Limits, BoxError> {
                let defaults = Limits::default();
                Ok(Limits { $($limit: self.$limit.unwrap_or(defaults.$limit),)* })
            }
        }
    };
}

stored_limits!(
    plan,
    tasks,
    replans,
    rounds,
    equal_rounds,
    failed_checks,
    idle_turns,
    alternating_turns,
    messages,
    message_turns,
    turns,
    parallel,
);
