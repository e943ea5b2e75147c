//! The names of environment variables, and the detection of misspelled ones.

use model::nearest::nearest;

use crate::settings::SETTINGS;

/// The variable that names the configuration file.
pub const CONFIG_FILE_VARIABLE: &str = "MATINS_CONFIG";
/// The variable that holds the token for a remote server.
pub const TOKEN_VARIABLE: &str = "MATINS_TOKEN";
/// The prefix of all variable names.
const VARIABLE_PREFIX: &str = "MATINS_";

/// A variable with the prefix of settings that no setting has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVariable {
    /// The name of the variable.
    pub name: String,
    /// The most similar known name, if one is close enough.
    pub suggestion: Option<&'static str>,
}

/// Finds the variables that have the prefix of settings but belong to no setting.
pub fn unknown_variables<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<UnknownVariable> {
    let known = || {
        SETTINGS
            .iter()
            .map(|it| it.environment)
            .chain([CONFIG_FILE_VARIABLE, TOKEN_VARIABLE])
    };
    names
        .into_iter()
        .filter(|name| name.starts_with(VARIABLE_PREFIX))
        .filter(|name| known().all(|known| known != *name))
        .map(|name| UnknownVariable {
            name: name.to_owned(),
            suggestion: nearest(name, known()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_variables_are_reported() {
        let names = [
            "PATH",
            "MATINS_WORKERS",
            "MATINS_WROKERS",
            "MATINS_ZZZZZZZZ",
        ];
        let unknown = unknown_variables(names);
        let found: Vec<_> = unknown
            .iter()
            .map(|it| (it.name.as_str(), it.suggestion))
            .collect();
        let expected = [
            ("MATINS_WROKERS", Some("MATINS_WORKERS")),
            ("MATINS_ZZZZZZZZ", None),
        ];
        assert_eq!(found, expected);
    }
}
