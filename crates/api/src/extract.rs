//! Extractors that read the body, the query and the path of a request. Their errors name the field, the value and the
//! accepted values.
//!
//! **Invariant:** no text with the character U+0000 reaches a handler, because PostgreSQL cannot store it.

use api_types::ProblemKind;
use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, RawPathParams, Request},
};
use http::{HeaderMap, Method, StatusCode, header, request::Parts};
use serde::de::DeserializeOwned;
use serde_json::Value;
use service::quoted;

use crate::{problem::ApiError, query_params, strict_json::StrictJson};

/// The longest body that the server reads, in bytes: four times the longest text ([`model::limits::CONTENT_BYTES`]),
/// which leaves room for JSON escapes and for other fields.
pub(crate) const MAX_BODY_BYTES: usize = 4 << 20;

/// A JSON body: its value, and its bytes, from which the digest of an idempotent request is computed.
pub(crate) struct Json<T> {
    pub(crate) value: T,
    pub(crate) bytes: Bytes,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        require_json(request.headers())?;
        let bytes = read_body(request, MAX_BODY_BYTES).await?;
        let value = parse_json(&bytes)?;
        Ok(Self { value, bytes })
    }
}

/// A JSON body that a request may leave out. An absent body and `null` give the default value.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        // Judge the content type after the body: a request without a body needs none.
        let json = require_json(request.headers());
        let bytes = read_body(request, MAX_BODY_BYTES).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        json?;
        let given: Option<T> = parse_json(&bytes)?;
        Ok(Self(given.unwrap_or_default()))
    }
}

/// Reads a whole body.
///
/// # Errors
///
/// Returns 413 if the body has more than `limit` bytes, and 400 if the client breaks off.
pub(crate) async fn read_body(request: Request, limit: usize) -> Result<Bytes, ApiError> {
    let limited = http_body_util::Limited::new(request.into_body(), limit);
    match http_body_util::BodyExt::collect(limited).await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(ApiError::new(
            ProblemKind::Invalid,
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is too long: accepted are up to {limit} bytes"),
        )),
        Err(error) => Err(ApiError::malformed(format!(
            "cannot read the body: {error}"
        ))),
    }
}

/// Requires the content type `application/json`. Without this check, a form of a foreign page could send JSON as
/// `text/plain`, which browsers allow without asking the server (CORS).
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers
        .get(header::CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let kind = given.as_deref().and_then(|given| given.split(';').next());
    if kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    let given = given.unwrap_or_else(|| "none".to_owned());
    let given: String = given.chars().take(80).collect();
    Err(ApiError::new(
        ProblemKind::Invalid,
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        format!(
            "invalid `Content-Type` {}: accepted is application/json",
            quoted(&given)
        ),
    )
    .field("Content-Type"))
}

/// Parses a JSON body.
///
/// # Errors
///
/// Returns 400 if the bytes are no JSON, hold U+0000, or do not fit the type.
fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let mut value: Value = serde_json::from_slice(bytes)
        .map_err(|error| ApiError::malformed(format!("the body is not valid JSON: {error}")))?;
    normalize_numbers(&mut value);
    if let Some(path) = find_nul(&value) {
        let detail = format!("no text may contain the character U+0000, but {path} does");
        return Err(ApiError::malformed(detail).field(path));
    }
    from_value(value)
}

/// Converts JSON to a type of the API.
///
/// # Errors
///
/// Returns 400 with the path of the field, such as `triggers[1].expression`.
pub(crate) fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(StrictJson(value)).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        if path == "." {
            return ApiError::malformed(format!("invalid body: {problem}"));
        }
        let detail = describe_unknown_field(&path, &problem.to_string())
            .unwrap_or_else(|| format!("invalid `{path}`: {problem}"));
        ApiError::malformed(detail).field(path)
    })
}

/// Returns the message about an unknown field with its path. Returns `None` if the problem is another one, or if the
/// path does not end with the unknown field.
fn describe_unknown_field(path: &str, problem: &str) -> Option<String> {
    let (name, accepted) = problem.strip_prefix("unknown field `")?.split_once("`, ")?;
    path.ends_with(name)
        .then(|| format!("unknown field {}; {accepted}", quoted(path)))
}

/// Replaces numbers such as `5.0` by `5`, because JSON has one type of numbers, and some clients write every number
/// with a fraction.
fn normalize_numbers(value: &mut Value) {
    /// 2^53: up to here a double represents every whole number exactly (IEEE 754).
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            let whole =
                float.filter(|float| float.fract() == 0.0 && float.abs() <= MAX_EXACT_INTEGER);
            if let Some(whole) = whole {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the number is whole and within bounds"
                )]
                let whole = whole as i64;
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_numbers),
        Value::Object(fields) => fields.values_mut().for_each(normalize_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Returns the outermost field that contains the character U+0000, which PostgreSQL cannot store, or `the body` if it
/// is in no field. Returns `None` if no text contains it.
fn find_nul(value: &Value) -> Option<String> {
    let has_nul = |text: &str| text.contains('\0');
    match value {
        Value::String(text) if has_nul(text) => Some("the body".to_owned()),
        Value::Array(items) => items.iter().find_map(find_nul),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            if has_nul(name) {
                return Some("the body".to_owned());
            }
            find_nul(value).map(|_| name.clone())
        }),
        _ => None,
    }
}

/// The parameters of a query. The types refuse unknown parameters with `deny_unknown_fields`, so that a misspelt
/// filter does not return unfiltered results.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        if query.contains('\0') || query.contains("%00") {
            let detail = "invalid query: no text may contain the character U+0000";
            return Err(ApiError::malformed(detail));
        }
        let pairs = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        let pairs: Vec<_> = pairs.collect();
        serde_path_to_error::deserialize(query_params::deserializer(&pairs))
            .map(Self)
            .map_err(|error| {
                let path = error.path().to_string();
                let problem = error.into_inner();
                // An item of a list has a path such as `delta[0]`.
                let path = path.split('[').next().unwrap_or_default().to_owned();
                let given = pairs.iter().rfind(|(name, _)| *name == path);
                let Some((_, value)) = given else {
                    return ApiError::malformed(format!("invalid query: {problem}"));
                };
                let value: String = value.chars().take(80).collect();
                let detail = describe_unknown_field(&path, &problem.to_string())
                    .unwrap_or_else(|| format!("invalid `{path}` {}: {problem}", quoted(&value)));
                ApiError::malformed(detail).field(path)
            })
    }
}

/// The parameters of a path, decoded, in their order.
pub(crate) struct Path<const COUNT: usize>(pub(crate) [String; COUNT]);

impl<const COUNT: usize, S: Send + Sync> FromRequestParts<S> for Path<COUNT> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let not_found = || {
            let path: String = parts.uri.path().chars().take(80).collect();
            ApiError::not_found("resource", &path)
        };
        let given = RawPathParams::from_request_parts(&mut parts.clone(), state)
            .await
            .map_err(|_| not_found())?;
        let given: Vec<_> = given.iter().map(|(_, part)| part.to_owned()).collect();
        // No stored name contains U+0000, and PostgreSQL would answer such a lookup with an error.
        if given.iter().any(|part| part.contains('\0')) {
            return Err(not_found());
        }
        given.try_into().map(Self).map_err(|_| not_found())
    }
}

/// `true` if a method changes nothing (RFC 9110, section 9.2.1).
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct TestBody {
        limits: Vec<u8>,
    }

    fn refused(body: &str) -> String {
        let Err(failure) = parse_json::<TestBody>(body.as_bytes()) else {
            panic!("{body} was taken");
        };
        format!("{failure:?}")
    }

    #[test]
    fn whole_numbers_with_fraction_or_exponent_are_parsed() {
        let Ok(parsed) = parse_json::<TestBody>(br#"{"limits":[1, 2.0, 3e0]}"#) else {
            panic!("it was refused");
        };
        assert_eq!(parsed.limits, [1, 2, 3]);
        assert!(refused(r#"{"limits":[1.5]}"#).contains("limits[0]"));
        assert!(refused(r#"{"limits":[1e300]}"#).contains("limits[0]"));
    }

    #[test]
    fn invalid_body_error_names_field() {
        for (body, named) in [
            ("{", "not valid JSON"),
            ("[]", "invalid body"),
            (r#"{"limits":[1,"two"]}"#, "limits[1]"),
            (
                r#"{"limits":[],"more":1}"#,
                "unknown field `more`; expected `limits`",
            ),
            (r#"{"limits":[],"text":"\u0000"}"#, "U+0000"),
            (r#"{"\u0000":1}"#, "U+0000"),
        ] {
            let failure = refused(body);
            assert!(failure.contains(named), "{body}: {failure}");
        }
    }
}
