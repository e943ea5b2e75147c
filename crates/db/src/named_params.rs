//! Parameters that are bound by name.
//!
//! A statement either numbers its parameters (`$1`) or names them (`:tenant`). The header of its file declares the
//! names; the order of the declaration is the order in which they are numbered. [`params!`](crate::params) compares
//! the names at a call with the declared ones when the call is compiled, so that nothing is looked up when it runs.

use std::borrow::Cow;

use crate::{param::Param, template::find_template};

/// Maximum number of names in one statement.
const MAX_NAMES: usize = 32;

/// The names that a text declares, each as the positions of its first byte and of the byte after its last one.
struct DeclaredNames {
    spans: [(usize, usize); MAX_NAMES],
    count: usize,
    /// The number of names that belong to a row. They come first.
    row_name_count: usize,
}

/// Returns `true` if the text names its parameters.
pub(crate) const fn has_names(text: &str) -> bool {
    let bytes = text.as_bytes();
    next_name(bytes, 0).0 < bytes.len()
}

/// Returns, for each parameter of a statement, the index of its name in `names`. The names must be all names that the
/// text declares, only those of its row, or only the others.
///
/// # Panics
///
/// Panics if a name is unknown, missing or repeated. [`params!`](crate::params) calls this function in a constant, so
/// that the panic is a compile error.
#[doc(hidden)]
#[must_use]
pub const fn order<const N: usize>(text: &str, names: [&str; N]) -> [usize; N] {
    let bytes = text.as_bytes();
    let declared = find_declared_names(text);
    let mut indexes = [0; N];
    let mut first = MAX_NAMES;
    let mut at = 0;
    while at < N {
        let index = declared.find(bytes, names[at].as_bytes(), 0, names[at].len());
        assert!(
            index < declared.count,
            "the statement has no parameter of this name"
        );
        indexes[at] = index;
        if index < first {
            first = index;
        }
        at += 1;
    }
    let is_whole = first == 0 && N == declared.count;
    let is_row = first == 0 && N == declared.row_name_count;
    let is_rest = first == declared.row_name_count && N == declared.count - declared.row_name_count;
    assert!(
        is_whole || is_row || is_rest,
        "a parameter of the statement is missing or doubled"
    );
    let mut order = [N; N];
    at = 0;
    while at < N {
        let index = indexes[at] - first;
        assert!(
            index < N && order[index] == N,
            "a parameter of the statement is missing or doubled"
        );
        order[index] = at;
        at += 1;
    }
    order
}

/// Returns the values of a call in the order of the statement's parameters.
#[doc(hidden)]
pub fn arrange<const N: usize>(values: [Param; N], order: [usize; N]) -> Vec<Param> {
    let mut values = values.map(Some);
    let arranged = order.into_iter().filter_map(|at| values[at].take());
    arranged.collect()
}

/// Replaces the names of parameters by numbers. Returns a text without names unchanged.
#[doc(hidden)]
#[must_use]
pub fn with_numbered_params(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let declared = find_declared_names(text);
    if declared.count == 0 {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let (mut start, mut end) = next_name(bytes, 0);
    while start < bytes.len() {
        // Skip the colon before the name.
        out.push_str(&text[copied..start - 1]);
        let index = declared.find(bytes, bytes, start, end);
        out.push('$');
        out.push_str(&(index + 1).to_string());
        copied = end;
        (start, end) = next_name(bytes, end);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

impl DeclaredNames {
    /// Returns the index of the name `other[start..end]`. Returns the count of names if the name is not declared.
    const fn find(&self, text: &[u8], other: &[u8], start: usize, end: usize) -> usize {
        let mut index = 0;
        while index < self.count {
            let (from, to) = self.spans[index];
            let mut same = to - from == end - start;
            let mut at = 0;
            while same && at < to - from {
                same = text[from + at] == other[start + at];
                at += 1;
            }
            if same {
                return index;
            }
            index += 1;
        }
        index
    }
}

/// Returns the names of a text in the order in which they first appear.
const fn find_declared_names(text: &str) -> DeclaredNames {
    let bytes = text.as_bytes();
    let mut declared = DeclaredNames {
        spans: [(0, 0); MAX_NAMES],
        count: 0,
        row_name_count: 0,
    };
    let (mut start, mut end) = next_name(bytes, 0);
    while start < bytes.len() {
        if declared.find(bytes, bytes, start, end) == declared.count {
            assert!(
                declared.count < MAX_NAMES,
                "the statement has too many names"
            );
            declared.spans[declared.count] = (start, end);
            declared.count += 1;
        }
        (start, end) = next_name(bytes, end);
    }
    declared.row_name_count = count_row_names(text, &declared);
    declared
}

/// Returns the number of names in the template of a row. Returns the count of all names if there is no template.
const fn count_row_names(text: &str, declared: &DeclaredNames) -> usize {
    let bytes = text.as_bytes();
    let (open, close) = find_template(text);
    if close == 0 {
        return declared.count;
    }
    let (mut count, mut last) = (0, 0);
    let mut seen = [false; MAX_NAMES];
    let (mut start, mut end) = next_name(bytes, open);
    while start < close {
        let index = declared.find(bytes, bytes, start, end);
        if !seen[index] {
            seen[index] = true;
            count += 1;
        }
        if index > last {
            last = index;
        }
        (start, end) = next_name(bytes, end);
    }
    assert!(
        count == 0 || last == count - 1,
        "declare the names of a row before the others"
    );
    count
}

/// Returns the next name at or after `at`, or the end of the text. Skips `::`, which is a cast of PostgreSQL.
const fn next_name(bytes: &[u8], mut at: usize) -> (usize, usize) {
    while at + 1 < bytes.len() {
        let is_cast = bytes[at + 1] == b':' || (at > 0 && bytes[at - 1] == b':');
        if bytes[at] == b':' && !is_cast && is_name_byte(bytes[at + 1]) {
            let start = at + 1;
            let mut end = start;
            while end < bytes.len() && is_name_byte(bytes[end]) {
                end += 1;
            }
            return (start, end);
        }
        at += 1;
    }
    (bytes.len(), bytes.len())
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "-- Each row: :id, :at. :now\nwith item (id, at) as (values /* row */ (:id, :at))\n\
        update t set at = item.at::text, seen = :now from item where t.id = item.id";

    #[test]
    fn names_are_numbered_in_the_order_of_the_header() {
        let text = "-- :tenant, :id\nselect a::text from t where id = :id and tenant = :tenant";
        assert_eq!(
            with_numbered_params(text),
            "-- $1, $2\nselect a::text from t where id = $2 and tenant = $1"
        );
        assert!(has_names(text) && !has_names("select $1::text"));
    }

    #[test]
    fn call_may_name_all_params_or_row_params_or_the_others() {
        assert_eq!(order(ROWS, ["at", "now", "id"]), [2, 0, 1]);
        assert_eq!(order(ROWS, ["at", "id"]), [1, 0]);
        assert_eq!(order(ROWS, ["now"]), [0]);
        let values = [Param::from(2_i64), Param::from(1_i64)];
        let arranged = arrange(values, order(ROWS, ["at", "id"]));
        assert_eq!(arranged, [Param::from(1_i64), Param::from(2_i64)]);
    }

    #[test]
    #[should_panic(expected = "no parameter of this name")]
    fn unknown_name_is_refused() {
        let _ = order(ROWS, ["id", "att", "now"]);
    }

    #[test]
    #[should_panic(expected = "missing or doubled")]
    fn missing_name_is_refused() {
        let _ = order(ROWS, ["id"]);
    }

    #[test]
    #[should_panic(expected = "missing or doubled")]
    fn doubled_name_is_refused() {
        let _ = order(ROWS, ["id", "id", "now"]);
    }

    #[test]
    #[should_panic(expected = "before the others")]
    fn row_that_is_declared_last_is_refused() {
        let text =
            "-- :now, :id\nwith item (id) as (values /* row */ (:id)) update t set at = :now";
        let _ = order(text, ["now", "id"]);
    }
}
