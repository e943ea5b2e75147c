//! Translates an expression into the dialects of the oracles, if they can express it.

use super::{
    cases::Case,
    clocks::{Clocks, DAY},
    meaning::{Field, Item, Meaning},
};

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// Returns the expression for croniter, in which `L5` is the last Friday. Returns `None` if croniter cannot express it:
/// croniter has no `LW`, no list with a `W`, and no list of weekdays with and without their number in the month. If one
/// match of both day fields suffices, croniter supports only plain numbers.
///
/// Also returns `None` near a gap of more than half a day, because croniter crosses a gap minute by minute, again for
/// each minute that fires in it, which takes minutes.
pub(crate) fn croniter(case: &Case, clocks: &Clocks) -> Option<String> {
    let meaning = Meaning::read(&case.expression);
    let (days, weekdays) = (&meaning.day.items, &meaning.weekday.items);
    let is_near = |item: &Item| matches!(item, Item::NearestWorkday(_));
    let is_placed = |item: &Item| matches!(item, Item::Nth { .. } | Item::LastOf { .. });
    let placed = weekdays.iter().filter(|item| is_placed(item)).count();
    let near = days.iter().any(is_near);
    if days.contains(&Item::LastWorkday)
        || (near && days.len() > 1)
        || (placed > 0 && placed < weekdays.len())
        || ((near || placed > 0) && !meaning.needs_both_days())
        || clocks.nearby(case.after.div_euclid(DAY)).largest_jump() > DAY / 2
    {
        return None;
    }
    if placed == 0 {
        return Some(case.expression.clone());
    }
    let weekdays = weekdays.iter().map(|item| match item {
        Item::LastOf { weekday } => format!("L{}", weekday % 7),
        Item::Nth { weekday, nth } => format!("{}#{nth}", weekday % 7),
        _ => String::new(),
    });
    let (others, _) = case.expression.rsplit_once(' ')?;
    Some(format!("{others} {}", join(weekdays)))
}

/// Returns the calendar event for systemd. Returns `None` if systemd cannot express it: systemd cannot match one of two
/// day fields, has no `W`, and does not combine days counted from the end of a month with others. Its C library finds
/// no instant if an offset has seconds (Monrovia until 1972). Steps are written out as lists, because version 252
/// reports an "Infinite loop" for many steps of months, days and hours.
pub(crate) fn systemd(case: &Case, clocks: &Clocks) -> Option<String> {
    let meaning = Meaning::read(&case.expression);
    if !meaning.needs_both_days() || clocks.offset(case.after) % 60 != 0 {
        return None;
    }
    let any_day = meaning.day.is_any();
    let (weekdays, days) = match meaning.weekday.items.as_slice() {
        [Item::Nth { weekday, nth }] if any_day => {
            let week = nth * 7 - 6..=(nth * 7).min(31);
            (name(*weekday).to_owned(), format!("-{}", join(week)))
        }
        [Item::LastOf { weekday }] if any_day => (name(*weekday).to_owned(), "~07/1".to_owned()),
        _ => {
            let weekdays = values(&meaning.weekday, |weekday| name(weekday).to_owned())?;
            let days = if meaning.day.items == [Item::Last] {
                "~01".to_owned()
            } else {
                format!("-{}", numbers(&meaning.day)?)
            };
            (weekdays.replace('*', ""), days)
        }
    };
    let month = numbers(&meaning.month)?;
    let hour = numbers(&meaning.hour)?;
    let minute = numbers(&meaning.minute)?;
    let second = numbers(&meaning.second)?;
    let event = format!("{weekdays} *-{month}{days} {hour}:{minute}:{second}");
    Some(event.trim_start().to_owned())
}

fn name(weekday: i64) -> &'static str {
    WEEKDAYS[usize::try_from(weekday % 7).unwrap()]
}

fn numbers(field: &Field) -> Option<String> {
    values(field, |value| value.to_string())
}

/// Returns all values of a field, or a star. Returns `None` if the field has items other than values.
fn values(field: &Field, name: impl Fn(i64) -> String) -> Option<String> {
    let only_values = field
        .items
        .iter()
        .all(|item| matches!(item, Item::Values { .. }));
    if field.is_any() {
        Some("*".to_owned())
    } else {
        only_values.then(|| join(field.values().map(name)))
    }
}

fn join(items: impl Iterator<Item = impl ToString>) -> String {
    items
        .map(|item| item.to_string())
        .collect::<Vec<_>>()
        .join(",")
}
