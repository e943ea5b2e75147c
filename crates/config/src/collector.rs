//! The type of the setting that names a collector of traces.

use url::Url;

use crate::setting_type::{AnySettingType, DisplayValue, PathBase, RawValue, SettingType};

/// The address of a collector that receives OTLP over HTTP.
pub(crate) struct Collector {}

impl AnySettingType for Collector {
    fn accepted(&self) -> String {
        "an HTTP address without user name, password and query, such as http://127.0.0.1:4318; Matins appends \
         /v1/traces"
            .into()
    }
    fn default_text(&self) -> String {
        "none: no traces are sent".into()
    }
    fn example(&self) -> String {
        "\"http://127.0.0.1:4318\"".into()
    }
    fn placeholder(&self) -> &'static str {
        "URL"
    }
    // An address with a password is refused, and the error must not repeat the password.
    fn is_secret(&self) -> bool {
        true
    }
}

impl SettingType for Collector {
    type Value = Option<String>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        let text = given.text()?.trim();
        let plain = |url: &Url| {
            ["http", "https"].contains(&url.scheme())
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.fragment().is_none()
        };
        match Url::parse(text) {
            Ok(url) if plain(&url) => Ok(Some(url.as_str().trim_end_matches('/').to_owned())),
            _ => Err(format!("expected {}", self.accepted())),
        }
    }
    fn default(&self) -> Self::Value {
        None
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        value.clone().map(DisplayValue::Text)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn read(text: &str) -> Result<Option<String>, String> {
        Collector {}.read(RawValue::Untyped(OsStr::new(text)), None)
    }

    #[test]
    fn collector_address_with_credentials_or_query_is_refused() {
        for text in [
            "127.0.0.1:4318",
            "localhost:4318",
            "grpc://collector:4317",
            "http://",
            "http://name:hunter2@collector",
            "http://name@collector",
            "http://collector?key=hunter2",
            "http://collector#traces",
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains("http://127.0.0.1:4318"), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn collector_address_keeps_path_and_loses_trailing_slash() {
        for (given, accepted) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318"),
            (" http://127.0.0.1:4318/ ", "http://127.0.0.1:4318"),
            ("https://example.org/otlp/", "https://example.org/otlp"),
            ("http://[::1]:4318", "http://[::1]:4318"),
        ] {
            assert_eq!(read(given), Ok(Some(accepted.to_owned())));
        }
    }
}
