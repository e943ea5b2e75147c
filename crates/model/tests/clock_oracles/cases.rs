//! Random expressions, zones and instants, dense where calendars and clocks are difficult.

use jiff::{Timestamp as Instant, tz::TimeZoneDatabase};

use super::random::Random;

/// Zones with unusual clock changes.
const UNUSUAL_ZONES: [&str; 20] = [
    "America/New_York",
    "America/Santiago",
    "America/Havana",
    "America/St_Johns",
    "America/Nuuk",
    "America/Sao_Paulo",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/Monrovia",
    "Antarctica/Casey",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Europe/Dublin",
    "Europe/Prague",
    "Pacific/Apia",
    "Pacific/Kwajalein",
];

/// 1971-01-01. Together with [`LAST`], the range that all oracles support.
const FIRST: i64 = 31_536_000;
/// 2190-01-01.
const LAST: i64 = 6_942_672_000;

/// An expression, its zone, and the instant after which its fires are computed.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) expression: String,
    pub(crate) zone: String,
    /// The instant in whole seconds, because the oracles have no finer resolution.
    pub(crate) after: i64,
    /// The microseconds that are added for Matins, which has a finer resolution.
    pub(crate) micros: i64,
}

/// Returns `count` cases. Each group of `group` cases shares its zone and its instant.
pub(crate) fn random(seed: u64, count: usize, group: usize) -> Vec<Case> {
    let mut random = Random::new(seed);
    let zones: Vec<String> = TimeZoneDatabase::bundled()
        .available()
        .map(|name| name.to_string())
        .collect();
    let zones: Vec<&str> = zones.iter().map(String::as_str).collect();
    let mut cases = Vec::with_capacity(count);
    while cases.len() < count {
        let zone = if random.one_in(2) {
            random.pick(&UNUSUAL_ZONES)
        } else {
            random.pick(&zones)
        };
        let after = instant(&mut random, zone);
        for _ in 0..group {
            cases.push(Case {
                expression: expression(&mut random),
                zone: zone.to_owned(),
                after,
                micros: random.pick(&[&0, &1, &500_000, &999_999]).to_owned(),
            });
        }
    }
    cases
}

/// Returns an instant: three in four near a clock change, the others anywhere, or near the end of a year or a February.
fn instant(random: &mut Random, zone: &str) -> i64 {
    let anywhere = random.between(FIRST, LAST);
    let zone = TimeZoneDatabase::bundled().get(zone).unwrap();
    let from = Instant::from_second(anywhere).unwrap();
    let change = zone
        .following(from)
        .next()
        .or_else(|| zone.preceding(from).next())
        .map(|change| change.timestamp().as_second())
        .filter(|change| (FIRST..LAST).contains(change));
    match (random.between(1, 8), change) {
        (1, _) | (_, None) => anywhere,
        (2, _) => {
            let year = i16::try_from(random.between(1972, 2188)).unwrap();
            let month = i8::try_from(*random.pick(&[&1, &3])).unwrap();
            let turn = jiff::civil::date(year, month, 1).to_zoned(zone).unwrap();
            turn.timestamp().as_second() + random.between(-90_000, 90_000)
        }
        (3 | 4, Some(change)) => change + random.between(-3, 3) * 1800 + random.between(-1, 1),
        (5 | 6, Some(change)) => change + random.between(-7200, 7200),
        (_, Some(change)) => change + random.between(-172_800, 90_000),
    }
}

fn expression(random: &mut Random) -> String {
    if random.one_in(50) {
        return (*random.pick(&[
            "@yearly",
            "@annually",
            "@monthly",
            "@weekly",
            "@daily",
            "@midnight",
            "@hourly",
        ]))
        .to_owned();
    }
    let minute = match random.between(1, 4) {
        1 => "0".into(),
        2 => "0,30".into(),
        _ => number_field(random, 0, 59, &[]),
    };
    let hour = match random.between(1, 4) {
        1 => "*".into(),
        2 => (*random.pick(&["0", "1", "2", "1,2", "2-3", "23", "0-3", "0,23", "*/2"])).to_owned(),
        _ => number_field(random, 0, 23, &[]),
    };
    let (day, weekday) = match random.between(1, 6) {
        1 | 2 => (star(random), star(random)),
        3 => (day_field(random), star(random)),
        4 => (star(random), weekday_field(random)),
        _ => (day_field(random), weekday_field(random)),
    };
    let month = if random.one_in(3) {
        number_field(random, 1, 12, &MONTHS)
    } else {
        "*".into()
    };
    let fields = format!("{minute} {hour} {day} {month} {weekday}");
    match random.between(1, 6) {
        1 => format!(
            "{} {fields}",
            random.pick(&["0", "30", "*/20", "59", "0,1", "5-7"])
        ),
        _ => fields,
    }
}

const MONTHS: [&str; 12] = [
    "JAN", "feb", "Mar", "APR", "may", "Jun", "JUL", "aug", "Sep", "OCT", "nov", "Dec",
];
const WEEKDAYS: [&str; 7] = ["SUN", "mon", "Tue", "WED", "thu", "Fri", "SAT"];

/// Returns a field that matches every day.
fn star(random: &mut Random) -> String {
    if random.one_in(8) { "?" } else { "*" }.to_owned()
}

fn value(random: &mut Random, min: i64, max: i64, names: &[&str]) -> (i64, String) {
    let value = random.between(min, max);
    let name = usize::try_from(value - min)
        .ok()
        .and_then(|index| names.get(index));
    match name {
        Some(name) if random.one_in(3) => (value, (*name).to_owned()),
        _ => (value, value.to_string()),
    }
}

/// Returns a list of values, ranges and steps, or a star with or without a step.
fn number_field(random: &mut Random, min: i64, max: i64, names: &[&str]) -> String {
    match random.between(1, 8) {
        1 => return "*".into(),
        2 | 3 => return format!("*/{}", random.between(1, max)),
        _ => {}
    }
    let items = (0..random.between(1, 3)).map(|_| item(random, min, max, names));
    items.collect::<Vec<_>>().join(",")
}

fn item(random: &mut Random, min: i64, max: i64, names: &[&str]) -> String {
    let (one, other) = (
        value(random, min, max, names),
        value(random, min, max, names),
    );
    let ((_, first), (_, last)) = if one.0 <= other.0 {
        (one, other)
    } else {
        (other, one)
    };
    match random.between(1, 6) {
        1 => format!("{first}-{last}"),
        2 => format!("{first}-{last}/{}", random.between(1, max)),
        _ => first,
    }
}

fn day_field(random: &mut Random) -> String {
    match random.between(1, 10) {
        1 => "L".into(),
        2 => "LW".into(),
        3 => format!("{}W", random.between(1, 31)),
        4 => format!("{},l", random.between(1, 31)),
        5 => format!("{}w,{}", random.between(1, 31), random.between(1, 31)),
        6 => random.between(29, 31).to_string(),
        _ => number_field(random, 1, 31, &[]),
    }
}

fn weekday_field(random: &mut Random) -> String {
    let weekday = value(random, 0, 7, &WEEKDAYS).1;
    match random.between(1, 8) {
        1 => format!("{weekday}#{}", random.between(1, 5)),
        2 => format!("{weekday}L"),
        3 => format!("{weekday}#L,{}", random.between(0, 7)),
        4 => format!("{}-SUN", random.pick(&["1", "Fri", "6", "SUN"])),
        5 => "MON-FRI".into(),
        _ => number_field(random, 0, 7, &WEEKDAYS),
    }
}
