//! The capabilities that an agent announces.

/// The capabilities from an agent's reply to `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one capability of the protocol"
)]
pub struct Capabilities {
    /// The agent's name; empty if the agent gives none.
    pub name: String,
    /// The agent's version; empty if the agent gives none.
    pub version: String,
    /// `true` if the agent can restore a session without a replay (`session/resume`).
    pub resume: bool,
    /// `true` if the agent can restore a session with a replay of its history (`session/load`).
    pub load: bool,
    /// `true` if the agent can list its sessions.
    pub list: bool,
    /// `true` if the agent can close a session.
    pub close: bool,
    /// `true` if the agent can delete a session.
    pub delete: bool,
    /// `true` if prompts may contain images.
    pub images: bool,
    /// `true` if prompts may contain sound.
    pub audio: bool,
    /// `true` if prompts may contain embedded resources.
    pub embedded_context: bool,
    /// `true` if the agent can use MCP servers over HTTP.
    pub mcp_http: bool,
    /// `true` if the agent can use MCP servers over server-sent events.
    pub mcp_sse: bool,
    /// The sign-in methods.
    pub auth_methods: Vec<AuthMethod>,
}

/// A sign-in method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// The ID of the method, for `authenticate` in the agent configuration.
    pub id: String,
    /// The name that the agent shows to people.
    pub name: String,
    /// The agent's description of the method; empty if the agent gives none.
    pub description: String,
    /// `true` if a person must run the method at a terminal, so that `authenticate` cannot use it.
    pub needs_terminal: bool,
}

/// Formats the IDs of sign-in methods for people.
pub(crate) fn format_auth_methods(methods: &[AuthMethod]) -> String {
    if methods.is_empty() {
        return "none".to_owned();
    }
    let names = methods.iter().map(|method| {
        let how = if method.needs_terminal {
            " (at a terminal)"
        } else {
            ""
        };
        format!("{}{how}", method.id)
    });
    names.collect::<Vec<_>>().join(", ")
}
