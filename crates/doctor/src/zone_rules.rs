//! Compares the editions of the zone rules of the running servers.

use std::collections::BTreeMap;

use service::excerpt;

use crate::finding::Finding;

/// The maximum number of characters of the name of an instance in the finding.
const MAX_NAME_CHARS: usize = 40;

/// Returns a warning if online servers have different editions of the zone rules. Takes the name of each instance and
/// the edition of its server, which is `None` if the server's version does not report it.
pub(crate) fn different_editions_finding(servers: &[(&str, Option<&str>)]) -> Option<Finding> {
    let mut instances: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, edition) in servers {
        let edition = edition.unwrap_or("an unknown edition");
        let name = excerpt(name, MAX_NAME_CHARS);
        instances.entry(edition).or_default().push(name);
    }
    (instances.len() > 1).then(|| {
        let editions = instances
            .iter()
            .map(|(edition, names)| format!("{edition} ({})", names.join(", ")));
        let editions: Vec<_> = editions.collect();
        let found = format!(
            "the servers have different time zone rules: {}",
            editions.join(", ")
        );
        let remedy = "upgrade all of them to one version; until then a schedule whose zone has changed may fire by \
                      either rules (docs/reference/clock-changes.md)";
        Finding::warning("time zones", found, remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Level;

    #[test]
    fn servers_with_different_zone_rules_are_named() {
        let servers = [
            ("one", Some("2026e")),
            ("two", Some("2027a")),
            ("three", Some("2026e")),
            ("four", None),
        ];
        let finding = different_editions_finding(&servers).unwrap();
        assert_eq!(finding.level, Level::Warning);
        assert_eq!(
            finding.found,
            "the servers have different time zone rules: 2026e (one, three), 2027a (two), \
             an unknown edition (four)"
        );
    }

    #[test]
    fn servers_with_same_zone_rules_are_no_finding() {
        for servers in [
            &[][..],
            &[("one", Some("2026e"))],
            &[("one", Some("2026e")), ("two", Some("2026e"))],
            &[("one", None), ("two", None)],
        ] {
            assert!(different_editions_finding(servers).is_none());
        }
    }
}
