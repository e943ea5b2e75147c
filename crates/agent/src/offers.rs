//! What an agent says it can do.

/// What an agent said in its answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one capability of the protocol"
)]
pub struct Offers {
    /// The agent's name; empty if it told none.
    pub name: String,
    /// The agent's version; empty if it told none.
    pub version: String,
    /// It can take up a session without replaying it (`session/resume`).
    pub resume: bool,
    /// It can take up a session, replaying it (`session/load`).
    pub load: bool,
    /// It can list its sessions.
    pub list: bool,
    /// It can close a session.
    pub close: bool,
    /// It can delete a session.
    pub delete: bool,
    /// It takes images in prompts.
    pub images: bool,
    /// It takes sound in prompts.
    pub audio: bool,
    /// It takes embedded resources in prompts.
    pub embedded_context: bool,
    /// It reaches MCP servers over HTTP.
    pub mcp_http: bool,
    /// It reaches MCP servers over server-sent events.
    pub mcp_sse: bool,
    /// The ways to sign in.
    pub auth_methods: Vec<AuthMethod>,
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// The ID of the method, for `authenticate` of a harness.
    pub id: String,
    /// What the agent shows to people.
    pub name: String,
    /// How it is done, in the agent's words; empty if it told none.
    pub description: String,
    /// Whether a person must run it at a terminal, so that `authenticate` cannot.
    pub terminal: bool,
}

/// Names sign-in methods for people.
pub(crate) fn names(methods: &[AuthMethod]) -> String {
    if methods.is_empty() {
        return "none".to_owned();
    }
    let names = methods.iter().map(|method| {
        let how = if method.terminal {
            " (at a terminal)"
        } else {
            ""
        };
        format!("{}{how}", method.id)
    });
    names.collect::<Vec<_>>().join(", ")
}
