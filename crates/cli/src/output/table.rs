//! Formats lists as tables.

use std::borrow::Cow;

use comfy_table::{ContentArrangement, Table, presets};
use model::escape::escape_line;

/// The minimum number of digits of a shortened ID. These digits encode its time of creation.
const MIN_ID_DIGITS: usize = 12;

/// Formats rows below headings, without border lines. Escapes the cells, so that none has a second line.
pub(crate) fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(headings);
    for row in rows {
        table.add_row(row.each_ref().map(|cell| match cell.as_str() {
            "" => Cow::Borrowed("-"),
            cell => escape_line(cell),
        }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// Shortens IDs to their shortest prefixes that are unique in the list.
pub(crate) fn short_ids<T: ToString>(ids: impl IntoIterator<Item = T>) -> Vec<String> {
    let whole: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    let shortest = |id: &String| {
        let least = id.find('_').map_or(0, |underscore| underscore + 1) + MIN_ID_DIGITS;
        (least..id.len())
            .map(|length| &id[..length])
            .find(|beginning| {
                let alike = whole.iter().filter(|other| other.starts_with(beginning));
                alike.take(2).count() == 1
            })
            .unwrap_or(id)
            .to_owned()
    };
    whole.iter().map(shortest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_are_unique_in_list() {
        let ids = [
            "run_0199ab00000070000000000000000001",
            "run_0199ab00000070000000000000000002",
            "run_0199cd00000070000000000000000001",
        ];
        let [first, second, third] = short_ids(ids).try_into().unwrap();
        assert_eq!(first, ids[0], "only its last digit tells it apart");
        assert_eq!(second, ids[1]);
        assert_eq!(third, "run_0199cd000000");
    }

    #[test]
    fn table_has_no_trailing_spaces_and_dash_for_empty_cell() {
        let shown = table(["A", "B"], [["one".into(), String::new()]]);
        assert_eq!(shown, "A    B\none  -");
    }

    #[test]
    fn table_cell_forges_no_row() {
        let shown = table(["A"], [["one\ntwo\u{1b}[1m".into()]]);
        assert_eq!(shown, "A\none\\ntwo\\u{1b}[1m");
    }
}
