//! The IP addresses that belong to the public internet, so that any user may have requests sent to them.
//!
//! The blocks are those of IANA's registries of special-purpose addresses
//! (<https://www.iana.org/assignments/iana-ipv4-special-registry>, and -ipv6-), multicast, and the metadata addresses
//! of clouds that lie outside of those blocks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The blocks of IPv4 that are not public: address, number of bits, kind.
const NON_PUBLIC_V4_BLOCKS: [(Ipv4Addr, u32, &str); 18] = [
    (Ipv4Addr::UNSPECIFIED, 8, "an address of this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "a shared address of a carrier",
    ),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "an address of this machine"),
    (
        Ipv4Addr::new(168, 63, 129, 16),
        32,
        "a metadata address of a cloud",
    ),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "reserved for examples"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "reserved for protocols"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "reserved for protocols"),
    (
        Ipv4Addr::new(192, 88, 99, 0),
        24,
        "an address of a 6to4 relay",
    ),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (
        Ipv4Addr::new(198, 18, 0, 0),
        15,
        "reserved for measurements",
    ),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "reserved for examples"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "reserved for examples"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// The block of all public addresses of IPv6.
const PUBLIC_V6_BLOCK: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The blocks within [`PUBLIC_V6_BLOCK`] that are not public.
const NON_PUBLIC_V6_BLOCKS: [(Ipv6Addr, u32, &str); 4] = [
    // This block includes Teredo, whose addresses contain IPv4 addresses.
    (
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0),
        23,
        "reserved for protocols",
    ),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "reserved for examples",
    ),
    (
        Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0),
        16,
        "a 6to4 address",
    ),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "reserved for examples",
    ),
];

/// The block of NAT64 (RFC 6052). The last 32 bits are an IPv4 address, which a gateway connects to, so the checks of
/// IPv4 apply to it.
const NAT64_BLOCK: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Returns the kind of an address that is not public. Returns `None` for a public address.
pub(crate) fn non_public_kind(address: IpAddr) -> Option<&'static str> {
    // An IPv4-mapped address of IPv6 reaches the IPv4 address, so the checks of IPv4 apply to it.
    match address.to_canonical() {
        IpAddr::V4(address) => non_public_kind_v4(address),
        IpAddr::V6(address) => non_public_kind_v6(address),
    }
}

fn non_public_kind_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |(block, bits, _): &&(Ipv4Addr, u32, _)| {
        (block.to_bits() ^ address.to_bits()) >> (32 - bits) == 0
    };
    NON_PUBLIC_V4_BLOCKS
        .iter()
        .find(within)
        .map(|(_, _, kind)| *kind)
}

fn non_public_kind_v6(address: Ipv6Addr) -> Option<&'static str> {
    if is_in_block_v6(address, NAT64_BLOCK) {
        let [.., a, b, c, d] = address.octets();
        return non_public_kind_v4(Ipv4Addr::new(a, b, c, d));
    }
    if !is_in_block_v6(address, PUBLIC_V6_BLOCK) {
        return Some("not a public address");
    }
    let found = NON_PUBLIC_V6_BLOCKS
        .iter()
        .find(|(block, bits, _)| is_in_block_v6(address, (*block, *bits)));
    found.map(|(_, _, kind)| *kind)
}

fn is_in_block_v6(address: Ipv6Addr, (block, bits): (Ipv6Addr, u32)) -> bool {
    (block.to_bits() ^ address.to_bits()) >> (128 - bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_public_addresses_are_recognized() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.19.0.1",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(
                non_public_kind(address.parse().unwrap()).is_some(),
                "{address}"
            );
        }
    }

    #[test]
    fn public_addresses_are_accepted() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "128.0.0.1",
            "169.253.0.1",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2001:200::1",
            "2606:4700:4700::1111",
            "2a00:1450::1",
        ] {
            let refused = non_public_kind(address.parse().unwrap());
            assert_eq!(refused, None, "{address}");
        }
    }
}
