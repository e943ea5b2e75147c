//! Checks whether a SQLite file is intact: briefly at each opening, completely on request.
//!
//! SQLite itself refuses a corrupt header, a schema that it cannot read, and a file that is shorter than its header
//! says. Checking every page means reading every page, and no ordinary command may take longer because a file is
//! large.

use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

/// The largest file, in bytes, that is checked page by page at each opening. The check takes a few milliseconds.
const MAX_QUICK_CHECK_BYTES: i64 = 4 << 20;

/// Checks a file at its opening: all of a small file, both ends of every table of a larger one. Returns the first
/// damage that was found.
pub(super) async fn quick_check(
    file: &mut SqliteConnection,
) -> Result<Option<String>, sqlx::Error> {
    let bytes: i64 = sqlx::query_scalar(
        "select page_count * page_size from pragma_page_count, pragma_page_size",
    )
    .fetch_one(&mut *file)
    .await?;
    if bytes > MAX_QUICK_CHECK_BYTES {
        return read_table_ends(file).await.map(|()| None);
    }
    let found: String = sqlx::query_scalar("pragma quick_check(1)")
        .fetch_one(file)
        .await?;
    Ok(damage_report(&found))
}

/// Checks every page, every index and every foreign key. Returns the first three kinds of damage that were found.
pub(super) async fn full_check(file: &mut SqliteConnection) -> Result<Option<String>, sqlx::Error> {
    let found: Vec<String> = sqlx::query_scalar("pragma integrity_check(3)")
        .fetch_all(&mut *file)
        .await?;
    if let Some(found) = damage_report(&found.join("\n")) {
        return Ok(Some(found));
    }
    let broken = sqlx::query("select \"table\", parent from pragma_foreign_key_check limit 1")
        .fetch_optional(file)
        .await?;
    let Some(broken) = broken else {
        return Ok(None);
    };
    let (table, parent): (String, String) = (broken.try_get(0)?, broken.try_get(1)?);
    Ok(Some(format!(
        "a row of table `{table}` refers to a row of `{parent}` that does not exist"
    )))
}

fn damage_report(found: &str) -> Option<String> {
    (found != "ok").then(|| found.lines().collect::<Vec<_>>().join(" "))
}

/// Reads the first and the last row of every table: the table's root page, and a path down to either end.
async fn read_table_ends(file: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    // Order by the B-tree that holds the rows, the row ID or the primary key, so that only its two ends are read.
    let tables: Vec<(String, String)> = sqlx::query_as(
        "select s.name, coalesce((select i.name \
             from pragma_table_list(s.name) l, pragma_table_info(s.name) i \
             where l.schema = 'main' and l.wr and i.pk = 1), 'rowid') \
         from sqlite_schema s where s.type = 'table' and s.rootpage > 0 order by s.name",
    )
    .fetch_all(&mut *file)
    .await?;
    for (table, key) in tables {
        // Safe: names from the file's own schema, quoted.
        let [table, key] = [table, key].map(|name| name.replace('"', "\"\""));
        let ends = format!(
            "select * from (select * from \"{table}\" order by \"{key}\" limit 1) union all \
             select * from (select * from \"{table}\" order by \"{key}\" desc limit 1)"
        );
        sqlx::query(AssertSqlSafe(ends))
            .fetch_all(&mut *file)
            .await?;
    }
    Ok(())
}
