//! Instants in the form that people read.

use super::Zone;
use crate::time::Timestamp;

/// Returns an instant with its weekday, offset and time zone: `Mon 2026-11-23 09:00:00 +01:00 Europe/Prague`. A
/// fraction of a second appears only if there is one.
pub fn format_instant(instant: Timestamp, zone: &Zone) -> String {
    let local = instant.jiff().to_zoned(zone.jiff().clone());
    let shown = local.strftime("%a %Y-%m-%d %H:%M:%S%.f %:z");
    format!("{shown} {zone}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatted_instant_has_weekday_offset_and_zone() {
        for (instant, zone, shown) in [
            (
                "2026-11-23T08:00:00Z",
                "Europe/Prague",
                "Mon 2026-11-23 09:00:00 +01:00 Europe/Prague",
            ),
            (
                "2026-11-01T06:30:00.25Z",
                "America/New_York",
                "Sun 2026-11-01 01:30:00.25 -05:00 America/New_York",
            ),
            (
                "1970-01-01T00:00:00Z",
                "UTC",
                "Thu 1970-01-01 00:00:00 +00:00 UTC",
            ),
        ] {
            let zone = Zone::parse(zone).unwrap();
            assert_eq!(format_instant(instant.parse().unwrap(), &zone), shown);
        }
    }
}
