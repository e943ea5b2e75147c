//! The setting of unified mode.

/// The setting of unified mode for one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnifiedMode {
    /// `true` if unified mode is on.
    pub enabled: bool,
    /// `true` if the request comes from a browser. Its bound automations may omit the session and go to the unified
    /// conversation.
    pub by_browser: bool,
}
