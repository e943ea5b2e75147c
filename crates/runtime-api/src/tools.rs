//! The tools of an agent: each request brings one message of the Model Context Protocol (MCP), and its response the answer.
//!
//! The files that an agent names are on the machine of the runtime, and only the server knows which calls of tools name
//! one. So the server asks for a file in its reply, and the runtime sends the same message again with it. A body with a file
//! is framed: one line of JSON, and after it the bytes of the file.
//!
//! ```text
//! ToolsRequest                    --> Answer | Over | SendFile
//! ToolsRequest + FileReport::Sent --> Answer                     (the file follows the line of the request)
//! ToolsRequest                    --> WriteFile                  (the file follows the line of the reply)
//! ToolsRequest + FileReport::Failed --> Answer                   (the file cannot be read or written)
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The header of each request with the secret of the run.
pub const SECRET_HEADER: &str = "matins-run-secret";

/// The longest line of JSON in a request or a response, in bytes. It holds the longest message of an agent, escaped
/// again.
pub const MAX_LINE_BYTES: usize = 20 << 20;

/// The request to answer a message of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolsRequest {
    /// The message.
    pub message: Value,
    /// The number of the call among those of the turn, from 1. Null if the message calls no tool.
    #[serde(default)]
    pub call: Option<u32>,
    /// The file for which the server has asked.
    #[serde(default)]
    pub file: Option<FileReport>,
}

/// A file for which the server has asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum FileReport {
    /// The content follows the line of the request.
    Sent {
        /// The path, as the server has named it.
        path: String,
        /// The number of bytes.
        size: u64,
    },
    /// The file cannot be read or written.
    Failed {
        /// The reason.
        reason: FileFailure,
    },
}

/// The reason why a file cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileFailure {
    /// The path cannot be used.
    Path {
        /// The path.
        path: String,
        /// The problem, and the accepted paths.
        problem: String,
    },
    /// The file is too large.
    TooLarge {
        /// Its size, in bytes.
        size: u64,
    },
    /// The file changed while it was read.
    Changed {
        /// The path.
        path: String,
    },
    /// Another file exists at the path.
    Exists {
        /// The path.
        path: String,
    },
    /// A failure of a later version.
    #[serde(other)]
    Unknown,
}

/// The response to a message of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolsReply {
    /// The server has answered the message.
    Answer {
        /// The answer. Null if the message needs none.
        #[serde(default)]
        message: Option<Value>,
    },
    /// The runtime does not have the run, or the turn is over.
    Over,
    /// The server needs a file, and has done nothing yet.
    SendFile {
        /// The path of the file in the working directory of the session.
        path: String,
    },
    /// The server has answered the message, under the condition that the runtime writes a file. The content follows the
    /// line of the response.
    WriteFile {
        /// The path of the new file in the working directory of the session.
        path: String,
        /// The number of bytes.
        size: u64,
        /// The SHA-256 of the content, in hexadecimal digits.
        sha256: String,
        /// The answer.
        message: Value,
    },
    /// A status of a later version.
    #[serde(other)]
    Unknown,
}

/// Returns the line of a framed body, with its end.
///
/// # Errors
///
/// Returns an error if the head has no form in JSON.
pub fn line(head: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    // JSON without indentation has no line break, because those in texts are escaped.
    let mut line = serde_json::to_vec(head)?;
    line.push(b'\n');
    Ok(line)
}

/// The first line of a framed body, whose pieces arrive one after the other.
#[derive(Debug, Default)]
pub struct FirstLine(Vec<u8>);

/// The first line of a framed body is longer than [`MAX_LINE_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the first line is too long: accepted are up to {MAX_LINE_BYTES} bytes")]
pub struct LineTooLong;

impl FirstLine {
    /// Adds a piece of the body. Returns the position in the piece at which the content begins, if the line ends there.
    ///
    /// # Errors
    ///
    /// Returns [`LineTooLong`] if the line is too long.
    pub fn add(&mut self, piece: &[u8]) -> Result<Option<usize>, LineTooLong> {
        let end = piece.iter().position(|byte| *byte == b'\n');
        self.0.extend(piece.iter().take(end.unwrap_or(piece.len())));
        if self.0.len() > MAX_LINE_BYTES {
            return Err(LineTooLong);
        }
        Ok(end.map(|end| end + 1))
    }

    /// Returns the line so far.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn line_of_frame_has_one_line_break_at_its_end() {
        let request = ToolsRequest {
            message: json!({"id": 1, "text": "a\nb"}),
            call: Some(3),
            file: Some(FileReport::Sent {
                path: "a\nb".into(),
                size: 5,
            }),
        };
        let line = line(&request).unwrap();
        assert_eq!(
            line.iter().position(|byte| *byte == b'\n'),
            Some(line.len() - 1)
        );
        let read: ToolsRequest = serde_json::from_slice(&line).unwrap();
        assert_eq!(read, request);
        // The content begins after the line, wherever a piece ends.
        let framed = [&line[..], b"a\n\nb"].concat();
        for size in 1..framed.len() {
            let (mut first, mut content) = (FirstLine::default(), None);
            for piece in framed.chunks(size) {
                match &mut content {
                    None => {
                        let begin = first.add(piece).unwrap();
                        content = begin.map(|begin| piece[begin..].to_vec());
                    }
                    Some(content) => content.extend(piece),
                }
            }
            assert_eq!(first.bytes(), &line[..line.len() - 1], "{size}");
            assert_eq!(content.unwrap(), b"a\n\nb", "{size}");
        }
        let long = vec![b' '; MAX_LINE_BYTES];
        let mut first = FirstLine::default();
        assert_eq!(first.add(&long), Ok(None));
        assert_eq!(first.add(b" \n"), Err(LineTooLong));
    }

    #[test]
    fn bodies_of_other_versions_are_read() {
        let earlier: ToolsRequest = serde_json::from_value(json!({"message": {}})).unwrap();
        assert_eq!((earlier.call, earlier.file), (None, None));
        let later = json!({"status": "postponed", "until": 7});
        let reply: ToolsReply = serde_json::from_value(later.clone()).unwrap();
        assert_eq!(reply, ToolsReply::Unknown);
        let failure = json!({"kind": "in_a_dream", "path": "a"});
        let failure: FileFailure = serde_json::from_value(failure).unwrap();
        assert_eq!(failure, FileFailure::Unknown);
    }
}
