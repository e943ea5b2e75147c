//! One declared setting.

use crate::kind::AnyKind;

/// What is declared of one setting.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Its name in the file, `workers` or `scheduler.tick_seconds`: a key, in a table or in none.
    pub name: &'static str,
    /// Its name in the environment.
    pub environment: &'static str,
    /// Its flag, without the dashes.
    pub flag: &'static str,
    /// What it is, in one sentence without a full stop.
    pub about: &'static str,
    /// What it takes.
    pub kind: &'static dyn AnyKind,
}

impl Setting {
    /// Its table in the file, where it stands in one, and its key there.
    pub fn path(&self) -> (Option<&'static str>, &'static str) {
        match self.name.split_once('.') {
            Some((table, key)) => (Some(table), key),
            None => (None, self.name),
        }
    }
}
