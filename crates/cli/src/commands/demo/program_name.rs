//! The name of this program in the commands that a demonstration prints.

/// Returns the name by which this program was called, `matins` or a path, so that the printed commands can be copied.
pub(super) fn program_name() -> String {
    std::env::args().next().unwrap_or_else(|| "matins".into())
}
