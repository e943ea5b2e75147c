//! The working directory of a session, as its row stores it.
//!
//! **Invariant:** a row that says "a folder of its own" names no path, because each server has such folders in a data
//! folder of its own. The server that takes a turn resolves the path.

use std::path::Path;

use model::SessionId;

use crate::document_format::{BASE_FORMAT, OWN_FOLDER_FORMAT};

/// The value of the column for a session with a folder of its own. Servers of earlier formats take it for a path that
/// does not exist, so that seats of such a session need [`OWN_FOLDER_FORMAT`].
const OWN_FOLDER: &str = "";

/// Returns the value of the column for the directory that a person gave, or for a folder of the session's own.
pub(crate) fn directory_column(given: Option<&str>) -> &str {
    given.unwrap_or(OWN_FOLDER)
}

/// Returns the directory that a person gave. Returns `None` for a folder of the session's own.
///
/// Servers of earlier formats store the path of such a folder, in their own data folders. Its last part is the ID of
/// the session, which no person can know in advance.
pub(crate) fn given_directory(stored: String, session: SessionId) -> Option<String> {
    let is_own = stored == OWN_FOLDER || Path::new(&stored).ends_with(session.to_string());
    Some(stored).filter(|_| !is_own)
}

/// Returns the lowest format whose servers can take turns in a directory.
pub(crate) const fn directory_needs_format(given: Option<&str>) -> i64 {
    match given {
        Some(_) => BASE_FORMAT,
        None => OWN_FOLDER_FORMAT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folder_with_id_of_its_session_is_own() {
        let session: SessionId = "ses_019a0000000070008000000000000001".parse().unwrap();
        let read = |stored: &str| given_directory(stored.to_owned(), session);
        assert_eq!(read(""), None);
        assert_eq!(read(&format!("/data/sessions/{session}")), None);
        for given in [
            "/work".to_owned(),
            format!("/data/sessions/{session}/src"),
            format!("/data/x{session}"),
            "/data/sessions/ses_019a0000000070008000000000000002".to_owned(),
        ] {
            assert_eq!(read(&given), Some(given));
        }
    }
}
