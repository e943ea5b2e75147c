//! Query parameters that the lists share: `limit`, `after`, and comma-separated values.

use std::{fmt, str::FromStr};

use api_types::{DEFAULT_PAGE_ITEMS, MAX_PAGE_ITEMS, ProblemKind};
use http::StatusCode;
use model::text_enum::UnknownWord;
use serde::{Deserialize, Deserializer, de::Error as _};
use service::quoted;

use crate::problem::ApiError;

/// The value of the parameter `state`: one state, or `None` for `any`.
#[derive(Deserialize)]
#[serde(try_from = "String", bound = "S: FromStr<Err = UnknownWord>")]
pub(super) struct StateFilter<S>(pub(super) Option<S>);

impl<S: FromStr<Err = UnknownWord>> TryFrom<String> for StateFilter<S> {
    type Error = UnknownWord;

    fn try_from(text: String) -> Result<Self, UnknownWord> {
        if text == "any" {
            return Ok(Self(None));
        }
        text.parse()
            .map(Some)
            .map(Self)
            .map_err(|mut unknown: UnknownWord| {
                unknown.accepted.push_str(", any");
                unknown
            })
    }
}

/// Returns the number of items on a page: the given one, or [`DEFAULT_PAGE_ITEMS`].
///
/// # Errors
///
/// Returns 400 unless the number is from 1 to [`MAX_PAGE_ITEMS`].
pub(super) fn page_limit(given: Option<u32>) -> Result<u32, ApiError> {
    match given {
        None => Ok(DEFAULT_PAGE_ITEMS),
        Some(limit) if (1..=MAX_PAGE_ITEMS).contains(&limit) => Ok(limit),
        Some(limit) => Err(ApiError::malformed(format!(
            "invalid `limit` {limit}: accepted are 1 to {MAX_PAGE_ITEMS}"
        ))
        .field("limit")),
    }
}

/// Parses `after`, the cursor of a list: the value of `next` of the previous page.
///
/// Returns `None` if the request has no cursor.
///
/// # Errors
///
/// Returns 400 if the cursor is not an ID of the type `T`. The ID need not exist.
pub(super) fn parse_cursor<T: FromStr>(given: Option<&str>) -> Result<Option<T>, ApiError> {
    parse_after(given, StatusCode::BAD_REQUEST, |text| text.parse().ok())
}

/// Parses `after`, the cursor of a list whose order the request names. Each order has its own form of cursors, so that
/// the parameter alone does not tell whether it is valid.
///
/// # Errors
///
/// Returns 422 if the text is not a cursor of this order.
pub(super) fn parse_cursor_of_order<T>(
    given: Option<&str>,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    parse_after(given, StatusCode::UNPROCESSABLE_ENTITY, parse)
}

fn parse_after<T>(
    given: Option<&str>,
    status: StatusCode,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    let Some(given) = given else { return Ok(None) };
    parse(given).map(Some).ok_or_else(|| {
        let given: String = given.chars().take(80).collect();
        let given = quoted(&given);
        let detail = format!("invalid `after` {given}: accepted is `next` of the previous page");
        ApiError::new(ProblemKind::Invalid, status, detail).field("after")
    })
}

/// Checks the parameter `field`, the number of a row at which a page begins or ends.
///
/// # Errors
///
/// Returns 400 if the number is negative.
pub(super) fn row_number(field: &str, given: Option<i64>) -> Result<Option<i64>, ApiError> {
    match given {
        Some(number) if number < 0 => {
            let detail = format!("invalid `{field}` {number}: accepted are 0 and more");
            Err(ApiError::malformed(detail).field(field))
        }
        number => Ok(number),
    }
}

/// Returns the error (422) for a parameter that excludes the parameter `other` of the same request.
pub(super) fn mutually_exclusive(field: &str, value: impl fmt::Display, other: &str) -> ApiError {
    let detail = format!("invalid `{field}` {value}: accepted is `{field}` or `{other}`, not both");
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    ApiError::new(ProblemKind::Invalid, status, detail).field(field)
}

/// Deserializes comma-separated values, such as `regular,schedule_cron`.
pub(super) fn comma_separated<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    let values = text.split(',').map(|value| value.trim().parse());
    values
        .collect::<Result<Vec<_>, _>>()
        .map(Some)
        .map_err(D::Error::custom)
}
