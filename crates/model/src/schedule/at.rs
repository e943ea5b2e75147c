//! Single instants in the forms that people write.

use jiff::{
    civil::DateTime,
    fmt::temporal::{Pieces, PiecesOffset, TimeZoneAnnotation, TimeZoneAnnotationKind},
    tz::{AmbiguousOffset, Offset, TimeZone},
};

use super::{
    Zone,
    error::{Error, shortened},
};
use crate::time::Timestamp;

const ACCEPTED_FORMS: &str = "expected 2026-12-01T09:00:00+01:00, \
                        2026-12-01T09:00[Europe/Prague], or 2026-12-01 09:00 in the given zone";

/// The longest accepted text, in bytes.
const MAX_AT_BYTES: usize = 128;

/// Parses one instant: RFC 3339 with an offset, RFC 9557 with a time zone, or a date and time on the wall clocks of
/// `zone`.
///
/// A wall time that clocks skip or show twice is refused, because a guess could be wrong by an hour. The error names
/// both possible instants. If the text has an offset and a time zone, the zone must have that offset at that time.
///
/// # Errors
///
/// [`Error::At`] if the text does not name one instant, [`Error::Zone`] if its time zone is unknown, and
/// [`Error::Past`] if the instant is not after `now`.
pub fn parse_at(text: &str, zone: &Zone, now: Timestamp) -> Result<Timestamp, Error> {
    let refuse = |problem: String| Error::At {
        at: shortened(text),
        problem,
    };
    let text = text.trim();
    if text.len() > MAX_AT_BYTES {
        return Err(refuse(format!("it is too long; {ACCEPTED_FORMS}")));
    }
    let pieces = Pieces::parse(text)
        .map_err(|_| refuse(format!("it is not a date and time; {ACCEPTED_FORMS}")))?;
    let Some(time) = pieces.time() else {
        return Err(refuse(format!("it has no time of day; {ACCEPTED_FORMS}")));
    };
    let wall = pieces.date().to_datetime(time);
    let named = match pieces.time_zone_annotation().map(TimeZoneAnnotation::kind) {
        None => None,
        Some(TimeZoneAnnotationKind::Named(name)) => Some(Zone::parse(name.as_str())?),
        Some(_) => {
            let problem = format!("its zone is an offset, not an IANA name; {ACCEPTED_FORMS}");
            return Err(refuse(problem));
        }
    };
    let at = match (pieces.offset(), named) {
        (Some(PiecesOffset::Numeric(offset)), Some(named)) => {
            with_offset_and_zone(wall, offset.offset(), &named)
        }
        (Some(offset), _) => with_offset(wall, offset.to_numeric_offset()),
        (None, named) => on_wall_clock(wall, named.as_ref().unwrap_or(zone)),
    };
    let at = Timestamp::from_jiff(at.map_err(refuse)?);
    if at <= now {
        return Err(Error::Past { at, now });
    }
    Ok(at)
}

fn with_offset(wall: DateTime, offset: Offset) -> Result<jiff::Timestamp, String> {
    offset
        .to_timestamp(wall)
        .map_err(|_| "it is beyond the last supported instant".into())
}

/// Returns the instant of a wall time with an offset, after checking that the zone has that offset then. The caller
/// handles `Z` separately, because `Z` only means that the instant is known, not that the zone has the offset 0 (RFC
/// 9557, section 2.2).
fn with_offset_and_zone(
    wall: DateTime,
    offset: Offset,
    zone: &Zone,
) -> Result<jiff::Timestamp, String> {
    let at = with_offset(wall, offset)?;
    if zone.jiff().to_offset(at) == offset {
        Ok(at)
    } else {
        Err(format!(
            "{zone} does not have that offset then; leave out the offset or the zone"
        ))
    }
}

fn on_wall_clock(wall: DateTime, zone: &Zone) -> Result<jiff::Timestamp, String> {
    let (happens, before, after) = match zone.jiff().to_ambiguous_timestamp(wall).offset() {
        AmbiguousOffset::Unambiguous { offset } => return with_offset(wall, offset),
        AmbiguousOffset::Gap { before, after } => ("skip it", before, after),
        AmbiguousOffset::Fold { before, after } => ("show it twice", before, after),
    };
    let written = |offset: Offset| {
        let at = with_offset(wall, offset)?;
        let shown = at.to_zoned(TimeZone::fixed(offset));
        Ok::<_, String>(shown.strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string())
    };
    Err(format!(
        "the clocks of {zone} {happens}; write {} or {}",
        written(before)?,
        written(after)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, zone: &str) -> Result<Timestamp, Error> {
        let now = "2026-11-21T09:00:00Z".parse().unwrap();
        parse_at(text, &Zone::parse(zone).unwrap(), now)
    }

    #[test]
    fn text_without_instant_is_refused_with_accepted_forms() {
        for (text, says) in [
            ("", "not a date and time"),
            ("tomorrow", "not a date and time"),
            ("2026-13-01 09:00", "not a date and time"),
            ("2027-02-29 09:00", "not a date and time"),
            ("09:00", "not a date and time"),
            ("2026-12-01", "no time of day"),
            ("2026-12-01T09:00[+01:00]", "not an IANA name"),
            (
                &format!("2026-12-01T09:00{}", " ".repeat(200) + "x"),
                "too long",
            ),
        ] {
            let error = read(text, "UTC").unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(
                error.contains("2026-12-01 09:00 in the given zone"),
                "{error}"
            );
        }
    }

    #[test]
    fn contradicting_or_past_instant_is_refused() {
        for (text, says) in [
            (
                "2026-12-01T09:00[Europe/Prage]",
                "did you mean Europe/Prague?",
            ),
            (
                "2026-12-01T09:00+02:00[Europe/Prague]",
                "does not have that offset then",
            ),
            ("2026-11-21T09:00Z", "not after the present"),
            ("2025-12-01 09:00", "not after the present"),
            ("9999-12-31T23:59:59Z", "beyond the last supported instant"),
        ] {
            let error = read(text, "UTC").unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn ambiguous_wall_time_is_refused_with_both_instants() {
        for (text, says) in [
            (
                "2027-03-14 02:30",
                "clocks of America/New_York skip it; write 2027-03-14T02:30:00-05:00 or \
                 2027-03-14T02:30:00-04:00",
            ),
            (
                "2027-11-07 01:30",
                "clocks of America/New_York show it twice; write 2027-11-07T01:30:00-04:00 or \
                 2027-11-07T01:30:00-05:00",
            ),
        ] {
            let error = read(text, "America/New_York").unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            let annotated = format!("{}[America/New_York]", text.replace(' ', "T"));
            let error = read(&annotated, "UTC").unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn offset_zone_and_wall_time_forms_parse_to_same_instant() {
        for text in [
            "2026-12-01T08:00:00Z",
            "2026-12-01T09:00:00+01:00",
            "2026-12-01T09:00[Europe/Prague]",
            "2026-12-01T09:00+01:00[Europe/Prague]",
            "2026-12-01T08:00Z[Europe/Prague]",
            "2026-12-01T09:00[europe/prague]",
            " 2026-12-01 09:00 ",
            "2026-12-01 09:00:00.000000",
        ] {
            let at = read(text, "Europe/Prague").unwrap();
            assert_eq!(at.to_string(), "2026-12-01T08:00:00Z", "{text}");
        }
        let second_pass = read("2027-11-07T01:30-05:00[America/New_York]", "UTC").unwrap();
        assert_eq!(second_pass.to_string(), "2027-11-07T06:30:00Z");
    }
}
