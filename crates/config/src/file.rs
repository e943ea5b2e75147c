//! A configuration file that was read.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    problem::{ConfigProblem, Origin},
    setting::Setting,
    setting_type::RawValue,
};

/// A parsed configuration file: its values and its problems.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    pub(crate) path: PathBuf,
    pub(crate) values: BTreeMap<&'static str, (FileValue, usize)>,
    pub(crate) problems: Vec<ConfigProblem>,
}

/// A value in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FileValue {
    Text(String),
    Number(i64),
    Bool(bool),
    List(Vec<String>),
    Other(&'static str),
}

impl ConfigFile {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }

    /// Returns the value that the file has for a setting, and the line of the value.
    pub(crate) fn value(&self, setting: &Setting) -> Option<(RawValue<'_>, Origin)> {
        let (written, line) = self.values.get(setting.name)?;
        let given = match written {
            FileValue::Text(text) => RawValue::Text(text),
            FileValue::Number(number) => RawValue::Number(*number),
            FileValue::Bool(switch) => RawValue::Bool(*switch),
            FileValue::List(texts) => RawValue::List(texts),
            FileValue::Other(kind) => RawValue::Other(kind),
        };
        Some((given, self.origin_at(*line)))
    }

    /// Returns the origin of a line of the file.
    pub(crate) fn origin_at(&self, line: usize) -> Origin {
        ConfigProblem::file_origin(&self.path, line)
    }
}
