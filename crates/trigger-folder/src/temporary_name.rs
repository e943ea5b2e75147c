//! The names under which files are written before they are renamed. No reader takes a file of such a name.

use std::sync::atomic::{AtomicU32, Ordering};

use delivery::TriggerName;

const PREFIX: &str = ".tmp-";

/// The number of temporary names that this process has made.
static NAME_COUNTER: AtomicU32 = AtomicU32::new(0);

/// Returns a new temporary name for a file.
pub(crate) fn temporary_name(name: &TriggerName) -> String {
    let (process, number) = (
        std::process::id(),
        NAME_COUNTER.fetch_add(1, Ordering::Relaxed),
    );
    format!("{PREFIX}{process}-{number}-{name}")
}

/// `true` if a file of this name was written by [`temporary_name`]'s caller, in this process or another one.
pub(crate) fn is_temporary(name: &[u8]) -> bool {
    let Ok(name) = str::from_utf8(name) else {
        return false;
    };
    let mut parts = name.strip_prefix(PREFIX).unwrap_or("").splitn(3, '-');
    let mut is_number = || parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
    let has_numbers = is_number() && is_number();
    has_numbers
        && parts
            .next()
            .is_some_and(|name| name.parse::<TriggerName>().is_ok())
}
