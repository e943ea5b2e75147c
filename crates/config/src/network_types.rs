//! The types of the settings that determine how clients reach a server: addresses, host names and switches.

use std::net::SocketAddr;

use crate::{
    problem::excerpt,
    setting_type::{AnySettingType, DisplayValue, PathBase, RawValue, SettingType},
};

/// A boolean.
pub(crate) struct Bool {
    pub(crate) default: bool,
}

impl AnySettingType for Bool {
    fn accepted(&self) -> String {
        "true or false".into()
    }
    fn default_text(&self) -> String {
        self.default.to_string()
    }
    fn example(&self) -> String {
        self.default_text()
    }
    fn placeholder(&self) -> &'static str {
        "BOOL"
    }
    fn choices(&self) -> Vec<&'static str> {
        vec!["true", "false"]
    }
}

impl SettingType for Bool {
    type Value = bool;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<bool, String> {
        let read = match given {
            RawValue::Bool(switch) => Some(switch),
            RawValue::Untyped(text) => text.to_str().and_then(|text| text.trim().parse().ok()),
            _ => return Err("expected true or false, without quotes".into()),
        };
        read.ok_or_else(|| "expected true or false".to_owned())
    }
    fn default(&self) -> bool {
        self.default
    }
    fn display(&self, value: &bool) -> Option<DisplayValue> {
        Some(DisplayValue::Bool(*value))
    }
}

/// The address on which a server listens, or none.
pub(crate) struct ListenAddress {
    pub(crate) default: SocketAddr,
}

/// The value for no address.
const NO_ADDRESS: &str = "none";

impl AnySettingType for ListenAddress {
    fn accepted(&self) -> String {
        "an IP address with a port, such as 127.0.0.1:7347 or [::1]:0 (0 for any port that is free), or \
         none for the socket in the data folder alone"
            .into()
    }
    fn default_text(&self) -> String {
        self.default.to_string()
    }
    fn example(&self) -> String {
        format!("\"{}\"", self.default)
    }
    fn placeholder(&self) -> &'static str {
        "ADDRESS"
    }
}

impl SettingType for ListenAddress {
    type Value = Option<SocketAddr>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        let text = given.text()?.trim();
        if text == NO_ADDRESS {
            return Ok(None);
        }
        let address = text.parse().map(Some);
        address.map_err(|_| format!("expected {}", self.accepted()))
    }
    fn default(&self) -> Self::Value {
        Some(self.default)
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        let shown = value.map_or_else(|| NO_ADDRESS.to_owned(), |address| address.to_string());
        Some(DisplayValue::Text(shown))
    }
}

/// Host names or IPv6 addresses in brackets, without ports.
pub(crate) struct HostNames {}

impl AnySettingType for HostNames {
    fn accepted(&self) -> String {
        "host names without ports, such as matins.example.org: a list in the file, elsewhere separated by \
         commas"
            .into()
    }
    fn default_text(&self) -> String {
        "none".into()
    }
    fn example(&self) -> String {
        "[\"matins.example.org\"]".into()
    }
    fn placeholder(&self) -> &'static str {
        "NAMES"
    }
}

impl SettingType for HostNames {
    type Value = Vec<String>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        let names: Vec<&str> = match given {
            RawValue::List(names) => names.iter().map(String::as_str).collect(),
            _ => given.text()?.split(',').collect(),
        };
        let name = |name: &str| {
            let name = name.trim();
            let bare = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            let is_name = !name.is_empty() && name.bytes().all(fits);
            let is_address = bare.is_some_and(|it| it.parse::<std::net::Ipv6Addr>().is_ok());
            (is_name || is_address)
                .then(|| name.to_ascii_lowercase())
                .ok_or_else(|| {
                    format!(
                        "`{}` is not a host name; expected {}",
                        excerpt(name),
                        self.accepted()
                    )
                })
        };
        names.into_iter().map(name).collect()
    }
    fn default(&self) -> Self::Value {
        Vec::new()
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        (!value.is_empty()).then(|| DisplayValue::Text(value.join(",")))
    }
}

/// The address of a remote server.
pub(crate) struct RemoteServer {
    pub(crate) default: &'static str,
}

impl AnySettingType for RemoteServer {
    fn accepted(&self) -> String {
        "an address such as https://matins.example.org".into()
    }
    fn default_text(&self) -> String {
        self.default.into()
    }
    fn example(&self) -> String {
        "\"https://matins.example.org\"".into()
    }
    fn placeholder(&self) -> &'static str {
        "URL"
    }
}

impl SettingType for RemoteServer {
    type Value = Option<String>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        let text = given.text()?.trim();
        if text.contains('@') {
            return Err("expected an address without user name and password".into());
        }
        if !(text.starts_with("http://") || text.starts_with("https://")) {
            return Err(format!("expected {}", self.accepted()));
        }
        Ok(Some(text.to_owned()))
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

    const LISTEN: ListenAddress = ListenAddress {
        default: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7347),
    };

    fn parse_text<K: SettingType>(kind: &K, text: &str) -> Result<K::Value, String> {
        kind.read(RawValue::Untyped(OsStr::new(text)), None)
    }

    #[test]
    fn listen_setting_accepts_address_or_none() {
        assert_eq!(parse_text(&LISTEN, "none"), Ok(None));
        for address in ["127.0.0.1:0", "[::1]:7347", "0.0.0.0:80"] {
            let read = parse_text(&LISTEN, address).unwrap().unwrap();
            assert_eq!(read.to_string(), address);
        }
        for wrong in ["localhost:1", "127.0.0.1", ":80", "127.0.0.1:70000"] {
            let refused = parse_text(&LISTEN, wrong).unwrap_err();
            assert!(refused.contains("or none for the socket"), "{refused}");
        }
    }

    #[test]
    fn host_name_with_port_is_refused() {
        let hosts = HostNames {};
        let two = ["matins.example.org".to_owned(), "[fe80::1]".to_owned()];
        assert_eq!(
            parse_text(&hosts, "Matins.example.org, [fe80::1]"),
            Ok(two.to_vec())
        );
        assert_eq!(hosts.read(RawValue::List(&two), None), Ok(two.to_vec()));
        for wrong in ["a:80", "http://a", "a,,b", "*"] {
            assert!(parse_text(&hosts, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn boolean_setting_accepts_only_true_and_false() {
        let switch = Bool { default: false };
        assert_eq!(parse_text(&switch, "true"), Ok(true));
        assert_eq!(switch.read(RawValue::Bool(true), None), Ok(true));
        assert!(parse_text(&switch, "yes").is_err());
        assert!(switch.read(RawValue::Text("true"), None).is_err());
    }

    #[test]
    fn remote_server_address_with_password_is_refused() {
        let remote = RemoteServer { default: "none" };
        assert!(parse_text(&remote, "https://matins.example.org").is_ok());
        for wrong in ["matins.example.org", "unix:/x", "https://me:secret@host"] {
            let refused = parse_text(&remote, wrong).unwrap_err();
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
