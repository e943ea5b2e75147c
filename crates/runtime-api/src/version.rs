//! The version of the protocol.

/// The version of the protocol that this program speaks.
pub const PROTOCOL: u32 = 1;

/// A runtime whose version of the protocol the server does not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the runtime speaks version {runtime} of the protocol and this server version {server}: a server serves runtimes of \
     its own version, of the one before and of the one after"
)]
pub struct UnsupportedProtocol {
    /// The version of the runtime.
    pub runtime: u32,
    /// The version of the server.
    pub server: u32,
}

impl UnsupportedProtocol {
    /// Returns the next step for a person.
    pub const fn remedy(&self) -> &'static str {
        if self.runtime > self.server {
            "upgrade the server: its version of Matins is too old for this runtime"
        } else {
            "upgrade the runtime: its version of Matins is too old for this server"
        }
    }
}

/// Checks whether this server serves runtimes of a version.
///
/// # Errors
///
/// Returns [`UnsupportedProtocol`] if the version is more than one before or after [`PROTOCOL`].
pub const fn require_supported(runtime: u32) -> Result<(), UnsupportedProtocol> {
    if runtime.abs_diff(PROTOCOL) > 1 {
        return Err(UnsupportedProtocol {
            runtime,
            server: PROTOCOL,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_serves_one_version_before_and_after_its_own() {
        for served in [PROTOCOL - 1, PROTOCOL, PROTOCOL + 1] {
            assert_eq!(require_supported(served), Ok(()));
        }
        let refused = require_supported(PROTOCOL + 2).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains("version 3") && text.contains("version 1"),
            "{text}"
        );
        assert!(refused.remedy().starts_with("upgrade the server"));
        let old = UnsupportedProtocol {
            runtime: 1,
            server: 3,
        };
        assert!(old.remedy().starts_with("upgrade the runtime"));
    }
}
