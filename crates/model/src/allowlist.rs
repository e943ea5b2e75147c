//! The allowlist of networks and hosts that notifications may reach beside the public internet.
//!
//! Requests to endpoints go to addresses that users choose. Without this list, a user could make the server send
//! requests to internal services.

use std::{fmt, net::IpAddr, str::FromStr};

/// The longest name of a host, in bytes (RFC 1035).
const MAX_HOST_BYTES: usize = 253;

/// The networks and hosts that are allowed although they are not public, also without TLS. The text form separates
/// them by commas: `10.1.0.0/16, ::1, hooks.internal`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowlist {
    networks: Vec<Network>,
    hosts: Vec<String>,
}

/// A range of addresses that share their first `bits` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

/// The error for a text that is not an allowlist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is neither a network nor a host: expected an entry such as 10.1.0.0/16, ::1 or hooks.internal",
    .given.escape_debug()
)]
pub struct InvalidAllowlist {
    given: String,
}

impl Allowlist {
    /// Returns `true` if the address is in an allowed network. An IPv4-mapped IPv6 address counts as its IPv4
    /// address, so that `::ffff:10.0.0.1` is treated as `10.0.0.1`.
    pub fn allows_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks
            .iter()
            .any(|network| network.contains(address))
    }

    /// Returns `true` if the host is allowed by its name, regardless of its addresses. Ignores case and one dot at
    /// the end.
    pub fn allows_host(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.hosts
            .iter()
            .any(|name| name.eq_ignore_ascii_case(host))
    }

    /// Returns `true` if any network is allowed.
    pub fn has_networks(&self) -> bool {
        !self.networks.is_empty()
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        let (mine, other, width) = match (self.address, address) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                (mine.to_bits().into(), other.to_bits().into(), 32)
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => (mine.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        let differing: u128 = mine ^ other;
        // `checked_shr` returns `None` for a shift by 128 bits: `::/0` contains every IPv6 address.
        differing
            .checked_shr(width - u32::from(self.bits))
            .unwrap_or(0)
            == 0
    }
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => whole,
            // `parse` alone would accept a plus sign.
            Some(bits) if bits.bytes().all(|digit| digit.is_ascii_digit()) => {
                bits.parse().map_err(|_| ())?
            }
            Some(_) => return Err(()),
        };
        (bits <= whole).then_some(Self { address, bits }).ok_or(())
    }
}

impl FromStr for Allowlist {
    type Err = InvalidAllowlist;

    fn from_str(text: &str) -> Result<Self, InvalidAllowlist> {
        let mut allowlist = Self::default();
        let entries = text.split(',').map(str::trim);
        for entry in entries.filter(|entry| !entry.is_empty()) {
            if let Ok(network) = entry.parse() {
                allowlist.networks.push(network);
            } else if is_host(entry) {
                allowlist.hosts.push(entry.to_owned());
            } else {
                return Err(InvalidAllowlist {
                    given: entry.chars().take(80).collect(),
                });
            }
        }
        Ok(allowlist)
    }
}

/// Returns `true` if the text is a host name. A name whose last label begins with a digit is refused, because URL
/// parsers read such names as IPv4 addresses.
fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= MAX_HOST_BYTES
        && text.split('.').all(label)
        && !last.starts_with(|first: char| first.is_ascii_digit())
}

impl fmt::Display for Allowlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks = self
            .networks
            .iter()
            .map(|network| format!("{}/{}", network.address, network.bits));
        let all: Vec<String> = networks.chain(self.hosts.iter().cloned()).collect();
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_allowlist(text: &str) -> Allowlist {
        text.parse().unwrap()
    }

    #[test]
    fn address_is_allowed_only_by_its_network() {
        let allowed = parse_allowlist("10.1.0.0/16, ::1, 192.168.7.7,fd00::/8");
        for (address, expected) in [
            ("10.1.255.255", true),
            ("10.2.0.0", false),
            ("::ffff:10.1.0.1", true),
            ("::1", true),
            ("::2", false),
            ("192.168.7.7", true),
            ("192.168.7.8", false),
            ("fdff::1", true),
            ("fc00::1", false),
        ] {
            assert_eq!(
                allowed.allows_address(address.parse().unwrap()),
                expected,
                "{address}"
            );
        }
        let all = parse_allowlist("0.0.0.0/0");
        assert!(all.allows_address("203.0.113.9".parse().unwrap()));
        assert!(!all.allows_address("::1".parse().unwrap()));
    }

    #[test]
    fn host_is_allowed_only_by_its_full_name() {
        let allowed = parse_allowlist("hooks.internal, localhost");
        for (host, expected) in [
            ("hooks.internal", true),
            ("HOOKS.Internal.", true),
            ("evil.hooks.internal", false),
            ("hooks.internal.evil", false),
            ("localhost", true),
            ("", false),
        ] {
            assert_eq!(allowed.allows_host(host), expected, "{host}");
        }
        assert!(!allowed.has_networks() && parse_allowlist("::1").has_networks());
    }

    #[test]
    fn invalid_allowlist_entry_is_refused_by_name() {
        for text in [
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "::/129",
            "10.0.0",
            "http://x",
            "a b",
            "a..b",
            "*.internal",
        ] {
            let refused = format!("localhost, {text}").parse::<Allowlist>();
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(text), "{refused}");
        }
        assert_eq!(parse_allowlist(" , "), Allowlist::default());
        let shown = parse_allowlist("::1,hooks.internal,10.0.0.0/8").to_string();
        assert_eq!(shown, "::1/128, 10.0.0.0/8, hooks.internal");
        assert_eq!(parse_allowlist(&shown).to_string(), shown);
    }
}
