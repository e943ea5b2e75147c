//! Pieces of the text of an answer.

use agent_client_protocol::v1::schema::{ContentBlock, ContentChunk, SessionUpdate};

/// Returns a sentence of the answer, which others follow.
pub(super) fn sentence(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(&format!("{text} ")))
}

/// Returns a piece of text.
pub(super) fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text))
}
