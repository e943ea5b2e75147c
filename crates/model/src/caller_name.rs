//! The names of callers of the API, as texts for people and agents show them.

/// The name of a caller over the private socket without a token, as rows, events and the API have it.
pub const SOCKET_CALLER_NAME: &str = "socket";

/// Returns the name of a caller for a text. A caller over the private socket has no name of its own.
pub fn display_name(name: &str) -> &str {
    match name {
        SOCKET_CALLER_NAME => "a person at the server",
        name => name,
    }
}

/// Returns the name of a caller for the beginning of a sentence.
pub fn display_name_at_start(name: &str) -> &str {
    match name {
        SOCKET_CALLER_NAME => "A person at the server",
        name => name,
    }
}

/// Returns the name of a caller for a text that says that it is a person.
pub(crate) fn format_person(name: &str) -> String {
    match name {
        SOCKET_CALLER_NAME => display_name(name).to_owned(),
        name => format!("a person, {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caller_over_socket_is_shown_as_person() {
        assert_eq!(display_name("socket"), "a person at the server");
        assert_eq!(display_name_at_start("socket"), "A person at the server");
        assert_eq!(format_person("socket"), "a person at the server");
        assert_eq!(display_name("laptop"), "laptop");
        assert_eq!(display_name_at_start("laptop"), "laptop");
        assert_eq!(format_person("laptop"), "a person, laptop");
    }
}
