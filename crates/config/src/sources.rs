//! The sources of settings. A flag takes precedence over the environment, then the file, then the default.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    file::ConfigFile,
    problem::{ConfigProblem, Origin},
    setting::Setting,
    setting_type::{PathBase, RawValue, SettingType},
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
    pub file: Option<ConfigFile>,
    /// The folder that replaces `~` in the file. `None` if `HOME` is not set.
    pub home: Option<PathBuf>,
}

impl Sources {
    /// Returns the effective value of one setting, and adds the problems of its values to `problems`.
    pub(crate) fn effective_value<K: SettingType>(
        &self,
        kind: &K,
        setting: Option<&Setting>,
        problems: &mut Vec<ConfigProblem>,
    ) -> Effective<K::Value> {
        let mut effective = Effective {
            value: kind.default(),
            origin: Origin::Default,
        };
        let Some(setting) = setting else {
            return effective;
        };
        for (given, origin, base) in self.values_by_precedence(setting) {
            match kind.read(given, base) {
                Ok(value) => effective = Effective { value, origin },
                Err(reason) => {
                    let value = given.display_text().filter(|_| !kind.is_secret());
                    let value = value.as_deref();
                    problems.push(ConfigProblem::value(setting.name, value, &origin, reason));
                }
            }
        }
        effective
    }

    /// Returns the values of a setting in all sources, the one with the highest precedence last.
    fn values_by_precedence(
        &self,
        setting: &Setting,
    ) -> impl Iterator<Item = (RawValue<'_>, Origin, Option<PathBase<'_>>)> {
        let file = self.file.as_ref().and_then(|file| {
            let (given, origin) = file.value(setting)?;
            let base = PathBase {
                folder: file.path().parent().unwrap_or(Path::new("")),
                home: self.home.as_deref(),
            };
            Some((given, origin, Some(base)))
        });
        let variable = self.environment.get(setting.environment);
        let variable = variable.filter(|value| !value.is_empty()).map(|value| {
            let origin = Origin::Environment(setting.environment);
            (RawValue::Untyped(value), origin, None)
        });
        let flag = self.flags.get(setting.flag);
        let flag = flag.map(|value| (RawValue::Untyped(value), Origin::Flag(setting.flag), None));
        file.into_iter().chain(variable).chain(flag)
    }
}
