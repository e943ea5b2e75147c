//! Formats lists as tables.

use std::borrow::Cow;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use model::escape::escape_line;

use super::{
    columns::{column_count, excerpt},
    text::LINE_COLUMNS,
};

/// The number of blanks after a cell.
const PADDING_COLUMNS: u16 = 2;
/// The width of a last column that gets too little of a line.
const MIN_LAST_COLUMNS: usize = 8;
/// The minimum number of digits of a shortened ID. These digits encode its time of creation.
const MIN_ID_DIGITS: usize = 12;

/// Formats rows below headings, without border lines. Escapes the cells, so that none has a second line.
pub(crate) fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    unwrapped(headings, rows).trim_fmt()
}

/// Formats rows as [`table`] does, with lines below each row, which are indented and cut at [`LINE_COLUMNS`].
pub(crate) fn table_with_notes<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = ([String; N], Vec<String>)>,
) -> String {
    let (rows, notes): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let table = table(headings, rows);
    let mut table = table.lines().map(str::to_owned);
    let mut lines: Vec<_> = table.by_ref().take(1).collect();
    for (row, notes) in table.zip(notes) {
        lines.push(row);
        let notes = notes.iter().map(|note| excerpt(note, LINE_COLUMNS - 2));
        lines.extend(notes.map(|note| format!("  {note}")));
    }
    lines.join("\n")
}

/// Formats rows as [`table`] does. The last cell of a row is a text, which continues below itself if the line would be wider
/// than [`LINE_COLUMNS`].
pub(crate) fn text_table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = unwrapped(headings, rows);
    let padding = usize::from(PADDING_COLUMNS);
    let width = |columns: usize| u16::try_from(columns + padding).unwrap_or(u16::MAX);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width(LINE_COLUMNS));
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_constraint(if at + 1 < N {
            ColumnConstraint::ContentWidth
        } else {
            ColumnConstraint::LowerBoundary(Width::Fixed(width(MIN_LAST_COLUMNS)))
        });
    }
    table.trim_fmt()
}

fn unwrapped<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Table {
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
        column.set_padding((0, PADDING_COLUMNS));
    }
    table
}

/// Returns the width that the other columns of a table leave to the last one.
pub(crate) fn last_columns<const N: usize>(headings: &[&str; N], rows: &[[String; N]]) -> usize {
    // Cells are escaped before they are printed.
    let length = |text: &str| column_count(&escape_line(text));
    let width = |column: usize| {
        let cells = rows.iter().map(|row| length(&row[column]));
        cells.chain([length(headings[column])]).max().unwrap_or(0) + usize::from(PADDING_COLUMNS)
    };
    let others: usize = (0..N.saturating_sub(1)).map(width).sum();
    LINE_COLUMNS.saturating_sub(others).max(MIN_LAST_COLUMNS)
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
    fn notes_are_cut_below_their_rows() {
        let rows = [
            (["one".to_owned()], vec!["a\nb".to_owned(), "x".repeat(90)]),
            (["two".to_owned()], Vec::new()),
        ];
        let long = "x".repeat(77);
        assert_eq!(
            table_with_notes(["A"], rows),
            format!("A\none\n  a b\n  {long}…\ntwo")
        );
    }

    #[test]
    fn last_cell_continues_below_itself() {
        let text = "a text that is longer than the columns which the other cells leave to it on a line of 80 columns";
        let rows = vec![
            ["hours".to_owned(), text.to_owned()],
            ["x".to_owned(), "a\nb".to_owned()],
        ];
        assert_eq!(
            text_table(["LIMIT", "ABOUT"], rows),
            "LIMIT  ABOUT\n\
             hours  a text that is longer than the columns which the other cells leave to it\n       \
             on a line of 80 columns\n\
             x      a\\nb"
        );
    }

    #[test]
    fn last_column_has_rest_of_line() {
        let rows = [["1234567890".to_owned(), String::new()]];
        assert_eq!(last_columns(&["A", "B"], &rows), 68);
        let letters = [["東京の天気".to_owned(), String::new()]];
        assert_eq!(last_columns(&["A", "B"], &letters), 68);
        let wide = [["x".repeat(90), String::new()]];
        assert_eq!(last_columns(&["A", "B"], &wide), MIN_LAST_COLUMNS);
    }

    #[test]
    fn table_cell_forges_no_row() {
        let shown = table(["A"], [["one\ntwo\u{1b}[1m".into()]]);
        assert_eq!(shown, "A\none\\ntwo\\u{1b}[1m");
    }
}
