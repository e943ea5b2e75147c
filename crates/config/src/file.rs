//! A configuration file that was read.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    kind::Given,
    problem::{Origin, Problem},
    setting::Setting,
};

/// A parsed configuration file: its values and its problems.
#[derive(Debug, Clone)]
pub struct File {
    pub(crate) path: PathBuf,
    pub(crate) values: BTreeMap<&'static str, (Written, usize)>,
    pub(crate) problems: Vec<Problem>,
}

/// A value in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Written {
    Text(String),
    Number(i64),
    Switch(bool),
    List(Vec<String>),
    Other(&'static str),
}

impl File {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the value that the file has for a setting, and the line of the value.
    pub(crate) fn value(&self, setting: &Setting) -> Option<(Given<'_>, Origin)> {
        let (written, line) = self.values.get(setting.name)?;
        let given = match written {
            Written::Text(text) => Given::Text(text),
            Written::Number(number) => Given::Number(*number),
            Written::Switch(switch) => Given::Switch(*switch),
            Written::List(texts) => Given::List(texts),
            Written::Other(what) => Given::Other(what),
        };
        Some((given, self.at(*line)))
    }

    /// Returns the origin of a line of the file.
    pub(crate) fn at(&self, line: usize) -> Origin {
        Problem::file_origin(&self.path, line)
    }
}
