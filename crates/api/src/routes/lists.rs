//! What the queries of lists have in common.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de::Error as _};
use wire::{DEFAULT_PAGE, MAX_PAGE};

use crate::problem::Failure;

/// How many items a page is to hold.
pub(super) fn limit(given: Option<u32>) -> Result<u32, Failure> {
    match given {
        None => Ok(DEFAULT_PAGE),
        Some(limit) if (1..=MAX_PAGE).contains(&limit) => Ok(limit),
        Some(limit) => Err(Failure::malformed(format!(
            "failed to take the limit {limit}: accepted are 1 to {MAX_PAGE}"
        ))
        .field("limit")),
    }
}

/// What `next` of the page before said.
pub(super) fn after<T: FromStr>(given: Option<&str>) -> Result<Option<T>, Failure> {
    let Some(given) = given else { return Ok(None) };
    given.parse().map(Some).map_err(|_| {
        let shown: String = given.chars().take(80).collect();
        Failure::malformed(format!(
            "failed to take after {shown:?}: accepted is what `next` of a page says"
        ))
        .field("after")
    })
}

/// Words with commas between them.
pub(super) fn words<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    let words = text.split(',').map(|word| word.trim().parse());
    words
        .collect::<Result<Vec<_>, _>>()
        .map(Some)
        .map_err(D::Error::custom)
}
