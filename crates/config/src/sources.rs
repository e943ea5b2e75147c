//! The sources of settings. A flag takes precedence over the environment, then the file, then the default.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    file::File,
    kind::{Base, Given, Kind},
    problem::{Origin, Problem},
    setting::Setting,
};

/// The effective value of a setting, and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective<T> {
    /// The value.
    pub value: T,
    /// The source of the value.
    pub origin: Origin,
}

/// All sources of settings.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The values of the command line, by flag without the dashes.
    pub flags: BTreeMap<&'static str, OsString>,
    /// The variables of the environment. An empty variable counts as unset.
    pub environment: BTreeMap<String, OsString>,
    /// The configuration file. `None` if there is none.
    pub file: Option<File>,
    /// The folder that replaces `~` in the file. `None` if `HOME` is not set.
    pub home: Option<PathBuf>,
}

impl Sources {
    /// Returns the effective value of one setting, and adds the problems of its values to `problems`.
    pub(crate) fn one<K: Kind>(
        &self,
        kind: &K,
        setting: Option<&Setting>,
        problems: &mut Vec<Problem>,
    ) -> Effective<K::Value> {
        let mut effective = Effective {
            value: kind.default(),
            origin: Origin::Default,
        };
        let Some(setting) = setting else {
            return effective;
        };
        for (given, origin, base) in self.said(setting) {
            match kind.read(given, base) {
                Ok(value) => effective = Effective { value, origin },
                Err(reason) => {
                    let value = given.repeated().filter(|_| !kind.is_secret());
                    let value = value.as_deref();
                    problems.push(Problem::value(setting.name, value, &origin, reason));
                }
            }
        }
        effective
    }

    /// Returns the values of a setting in all sources, the one with the highest precedence last.
    fn said(
        &self,
        setting: &Setting,
    ) -> impl Iterator<Item = (Given<'_>, Origin, Option<Base<'_>>)> {
        let file = self.file.as_ref().and_then(|file| {
            let (given, origin) = file.value(setting)?;
            let base = Base {
                folder: file.path().parent().unwrap_or(Path::new("")),
                home: self.home.as_deref(),
            };
            Some((given, origin, Some(base)))
        });
        let variable = self.environment.get(setting.environment);
        let variable = variable.filter(|value| !value.is_empty()).map(|value| {
            let origin = Origin::Environment(setting.environment);
            (Given::Words(value), origin, None)
        });
        let flag = self.flags.get(setting.flag);
        let flag = flag.map(|value| (Given::Words(value), Origin::Flag(setting.flag), None));
        file.into_iter().chain(variable).chain(flag)
    }
}
