//! The type of the setting that names the time zone of new schedules.

use model::schedule::{Error, Zone};

use crate::setting_type::{AnySettingType, DisplayValue, PathBase, RawValue, SettingType};

/// The value for the zone of the machine.
const LOCAL_ZONE: &str = "local";

/// An IANA time zone, or none for the zone of the machine.
pub(crate) struct TimeZone {}

impl AnySettingType for TimeZone {
    fn accepted(&self) -> String {
        "an IANA name such as Europe/Prague or UTC, or local for the zone of the variable TZ, else of the machine"
            .into()
    }
    fn default_text(&self) -> String {
        LOCAL_ZONE.into()
    }
    fn example(&self) -> String {
        format!("\"{LOCAL_ZONE}\"")
    }
    fn placeholder(&self) -> &'static str {
        "IANA"
    }
}

impl SettingType for TimeZone {
    type Value = Option<Zone>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        let name = given.text()?.trim();
        if name.eq_ignore_ascii_case(LOCAL_ZONE) {
            return Ok(None);
        }
        Zone::parse(name).map(Some).map_err(|error| {
            let nearest = match error {
                Error::Zone { nearest, .. } => nearest,
                _ => None,
            };
            let advice = nearest.map(|name| format!("; did you mean {name}?"));
            format!("expected {}{}", self.accepted(), advice.unwrap_or_default())
        })
    }
    fn default(&self) -> Self::Value {
        None
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        let name = value.as_ref().map_or(LOCAL_ZONE, Zone::name);
        Some(DisplayValue::Text(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn read(text: &str) -> Result<Option<Zone>, String> {
        TimeZone {}.read(RawValue::Untyped(OsStr::new(text)), None)
    }

    #[test]
    fn zone_setting_accepts_iana_names_and_local() {
        for wrong in ["PST", "CET-1CEST", "/etc/localtime", "+01:00"] {
            let refused = read(wrong).unwrap_err();
            assert!(refused.starts_with("expected an IANA name"), "{refused}");
        }
        let refused = read("Europe/Prage").unwrap_err();
        assert!(
            refused.ends_with("did you mean Europe/Prague?"),
            "{refused}"
        );
        assert_eq!(read("Local"), Ok(None));
        let zone = read(" europe/prague ").unwrap();
        let shown = TimeZone {}.display(&zone).map(|it| it.to_string());
        assert_eq!(shown.as_deref(), Some("Europe/Prague"));
    }
}
