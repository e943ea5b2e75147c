//! Whether unified mode is on.

/// Whether unified mode is on, and for whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unified {
    /// Whether it is on.
    pub on: bool,
    /// Whether a browser asks: what it binds and names no session for goes to the one conversation.
    pub by_browser: bool,
}
