//! One declared setting.

use crate::setting_type::AnySettingType;

/// The declaration of one setting.
#[derive(Clone, Copy)]
pub struct Setting {
    /// The name in the file: a key such as `workers`, or a table and a key such as `scheduler.tick_seconds`.
    pub name: &'static str,
    /// The name of the environment variable.
    pub environment: &'static str,
    /// The name of the flag, without the dashes.
    pub flag: &'static str,
    /// The description of the setting: one sentence without a full stop.
    pub about: &'static str,
    /// The type of the values.
    pub kind: &'static dyn AnySettingType,
}

impl Setting {
    /// Returns the table of the setting in the file and the key in that table. The table is `None` for a top-level
    /// key.
    pub fn path(&self) -> (Option<&'static str>, &'static str) {
        match self.name.split_once('.') {
            Some((table, key)) => (Some(table), key),
            None => (None, self.name),
        }
    }
}
