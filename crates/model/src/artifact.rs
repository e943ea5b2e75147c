//! Artifacts: the files and addresses that agents hand in.

use std::{fmt, str::FromStr};

use crate::{
    ids::{ArtifactId, InstanceId, RunId, SessionId, TenantId},
    time::Timestamp,
};

/// The highest number of artifacts that a turn saves, in all attempts at its input.
pub const ARTIFACTS_PER_TURN: u32 = 50;
/// The highest number of artifacts of a session, each version counted.
pub const ARTIFACTS_PER_SESSION: u32 = 1000;
/// The highest sum of the sizes of all artifacts of a tenant, in GiB. Each version counts with its whole size.
pub const ARTIFACT_GIB_PER_TENANT: u32 = 10;
/// The size of the largest content, in bytes.
pub const MAX_ARTIFACT_BYTES: u64 = 100 << 20;
/// The length of the longest content that an agent gives as text, in bytes.
pub const MAX_ARTIFACT_TEXT_BYTES: usize = 1 << 20;
/// The length of the longest content that an agent gets as text, in bytes.
pub const MAX_RETURNED_TEXT_BYTES: u64 = 64 << 10;
/// The length of the longest name, in characters.
pub const MAX_ARTIFACT_NAME_CHARS: usize = 200;
/// The length of the longest address, in bytes.
pub const MAX_ARTIFACT_URI_BYTES: usize = 2048;
/// The length of the longest media type, in bytes.
const MAX_MEDIA_TYPE_BYTES: usize = 200;

/// The SHA-256 of the content of an artifact. Its text form has 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Returns the hash of these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The error for a text that is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 lower-case hexadecimal digits")]
pub struct InvalidHash;

impl FromStr for ContentHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(InvalidHash),
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return Err(InvalidHash);
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Self(bytes))
    }
}

/// The content of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactContent {
    /// Bytes that the data folder of an instance holds.
    Stored {
        /// The hash of the bytes.
        sha256: ContentHash,
        /// The number of bytes.
        size: u64,
        /// The instance whose data folder holds the bytes.
        instance: InstanceId,
    },
    /// An address. Matins records it and never fetches it.
    Uri(String),
}

/// One version of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The ID of the version.
    pub id: ArtifactId,
    /// The tenant that owns the artifact.
    pub tenant_id: TenantId,
    /// The session whose agent handed it in.
    pub session_id: SessionId,
    /// The run of the turn in which the agent handed it in.
    pub run_id: RunId,
    /// The name within the session. It is a label and never a path.
    pub name: String,
    /// The number of the version among those of the name, from 1.
    pub version: i64,
    /// The media type, as the agent named it.
    pub media_type: String,
    /// The content.
    pub content: ArtifactContent,
    /// The instant at which the version was saved.
    pub created_at: Timestamp,
}

/// Returns `true` if a text is a media type: `type/subtype`, and parameters of the form `; name=value` (RFC 9110, section
/// 8.3.1, without quoted values).
pub fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let is_allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !part.is_empty() && part.bytes().all(is_allowed)
    };
    let is_pair = |part: &str, between: char| {
        let parts = part.split_once(between);
        parts.is_some_and(|(left, right)| is_token(left) && is_token(right))
    };
    let mut parts = text.split(';');
    let is_kind = parts
        .next()
        .is_some_and(|kind| is_pair(kind.trim_end_matches(' '), '/'));
    is_kind
        && text.len() <= MAX_MEDIA_TYPE_BYTES
        && parts.all(|parameter| is_pair(parameter.trim_matches(' '), '='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_hash_is_refused() {
        let hash = ContentHash::new([0xA7; 32]);
        let text = hash.to_string();
        assert_eq!(text.parse(), Ok(hash));
        let upper = text.to_uppercase();
        let long = format!("{text}0");
        for refused in ["", "../../token", &text[1..], &text[2..], &upper, &long] {
            assert_eq!(
                refused.parse::<ContentHash>(),
                Err(InvalidHash),
                "{refused}"
            );
        }
    }

    #[test]
    fn text_that_is_no_media_type_is_refused() {
        let long = format!("text/{}", "x".repeat(200));
        for refused in [
            "",
            "text",
            "text/",
            "/plain",
            "text/plain/x",
            " text/plain",
            "text/plain;",
            "text/plain; charset",
            "text/plain; charset=\"utf-8\"",
            "text/plain\r\nset-cookie: a=b",
            "text/plän",
            &long,
        ] {
            assert!(!is_media_type(refused), "{refused:?}");
        }
        for accepted in [
            "text/plain",
            "text/plain; charset=utf-8",
            "text/markdown;charset=utf-8 ; variant=GFM",
            "application/vnd.api+json",
        ] {
            assert!(is_media_type(accepted), "{accepted:?}");
        }
    }
}
