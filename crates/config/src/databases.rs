//! The types of the settings that name a database.

use crate::{
    Address,
    setting_type::{AnySettingType, DisplayValue, PathBase, PathHint, RawValue, SettingType},
};

/// The address of a SQLite or PostgreSQL database, which may contain a password.
pub(crate) struct DatabaseAddress {
    pub(crate) default: &'static str,
}

impl AnySettingType for DatabaseAddress {
    fn accepted(&self) -> String {
        "a path, sqlite:///path or postgres://user@host/database".into()
    }
    fn default_text(&self) -> String {
        self.default.into()
    }
    fn example(&self) -> String {
        "\"postgres://matins@localhost/matins\"".into()
    }
    fn placeholder(&self) -> &'static str {
        "URL"
    }
    fn hint(&self) -> PathHint {
        PathHint::File
    }
    fn is_secret(&self) -> bool {
        true
    }
}

impl SettingType for DatabaseAddress {
    type Value = Option<Address>;
    fn read(&self, given: RawValue<'_>, base: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        let address = Address::new(given.text()?);
        base.map_or_else(|| Ok(address.clone()), |base| address.resolve_against(base))
            .map(Some)
    }
    fn default(&self) -> Self::Value {
        None
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        let address = value.as_ref()?;
        Some(DisplayValue::Text(address.to_string()))
    }
}

/// The address of a PostgreSQL database, which may contain a password.
pub(crate) struct PostgresAddress {
    pub(crate) default: &'static str,
}

impl AnySettingType for PostgresAddress {
    fn accepted(&self) -> String {
        "postgres://user@host/database".into()
    }
    fn default_text(&self) -> String {
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

impl SettingType for PostgresAddress {
    type Value = Option<Address>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        Ok(Some(Address::new(given.text()?)))
    }
    fn default(&self) -> Self::Value {
        None
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        let address = value.as_ref()?;
        Some(DisplayValue::Text(address.to_string()))
    }
}
