//! The types of the settings that name a database.

use crate::{
    Address,
    kind::{AnySettingType, Base, Given, Hint, Kind, Plain},
};

/// The address of a SQLite or PostgreSQL database, which may contain a password.
pub(crate) struct Database {
    pub(crate) default: &'static str,
}

impl AnySettingType for Database {
    fn accepted(&self) -> String {
        "a path, sqlite:///path or postgres://user@host/database".into()
    }
    fn default_shown(&self) -> String {
        self.default.into()
    }
    fn example(&self) -> String {
        "\"postgres://matins@localhost/matins\"".into()
    }
    fn placeholder(&self) -> &'static str {
        "URL"
    }
    fn hint(&self) -> Hint {
        Hint::File
    }
    fn is_secret(&self) -> bool {
        true
    }
}

impl Kind for Database {
    type Value = Option<Address>;
    fn read(&self, given: Given<'_>, base: Option<Base<'_>>) -> Result<Self::Value, String> {
        let address = Address::new(given.text()?);
        base.map_or_else(|| Ok(address.clone()), |base| address.based(base))
            .map(Some)
    }
    fn default(&self) -> Self::Value {
        None
    }
    fn shown(&self, value: &Self::Value) -> Option<Plain> {
        let address = value.as_ref()?;
        Some(Plain::Text(address.to_string()))
    }
}

/// The address of a PostgreSQL database, which may contain a password.
pub(crate) struct Server {
    pub(crate) default: &'static str,
}

impl AnySettingType for Server {
    fn accepted(&self) -> String {
        "postgres://user@host/database".into()
    }
    fn default_shown(&self) -> String {
        self.default.into()
    }
    fn example(&self) -> String {
        "\"postgres://matins@localhost/matins\"".into()
    }
    fn placeholder(&self) -> &'static str {
        "URL"
    }
    fn is_secret(&self) -> bool {
        true
    }
}

impl Kind for Server {
    type Value = Option<Address>;
    fn read(&self, given: Given<'_>, _: Option<Base<'_>>) -> Result<Self::Value, String> {
        Ok(Some(Address::new(given.text()?)))
    }
    fn default(&self) -> Self::Value {
        None
    }
    fn shown(&self, value: &Self::Value) -> Option<Plain> {
        let address = value.as_ref()?;
        Some(Plain::Text(address.to_string()))
    }
}
