//! Whether a SQLite file is intact: a glance at each opening, a whole look where somebody asks for it.
//!
//! SQLite itself refuses a header that makes no sense, a schema that it cannot read, and a file that is
//! shorter than its header says. Whether every page is what it should be takes a look at every page, and
//! no command may take longer the more a file holds.

use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

/// The largest file that is looked at page by page at each opening, in bytes: a few milliseconds.
const WHOLE_BYTES: i64 = 4 << 20;

/// Looks at a file at its opening: at all of a small one, else at both ends of every table. Gives the
/// first thing that is wrong.
pub(super) async fn glance(file: &mut SqliteConnection) -> Result<Option<String>, sqlx::Error> {
    let bytes: i64 = sqlx::query_scalar(
        "select page_count * page_size from pragma_page_count, pragma_page_size",
    )
    .fetch_one(&mut *file)
    .await?;
    if bytes > WHOLE_BYTES {
        return ends(file).await.map(|()| None);
    }
    let found: String = sqlx::query_scalar("pragma quick_check(1)")
        .fetch_one(file)
        .await?;
    Ok(wrong(&found))
}

/// Looks at every page, every index and every reference from row to row. Gives the first things that
/// are wrong.
pub(super) async fn whole(file: &mut SqliteConnection) -> Result<Option<String>, sqlx::Error> {
    let found: Vec<String> = sqlx::query_scalar("pragma integrity_check(3)")
        .fetch_all(&mut *file)
        .await?;
    if let Some(found) = wrong(&found.join("\n")) {
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
        "a row of {table} refers to one of {parent} that is not there"
    )))
}

fn wrong(found: &str) -> Option<String> {
    (found != "ok").then(|| found.lines().collect::<Vec<_>>().join(" "))
}

/// Reads the first and the last row of every table: the root of each, and a way down to both ends.
async fn ends(file: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    // In the order of the tree that holds the rows: by their numbers, or by the key.
    let tables: Vec<(String, String)> = sqlx::query_as(
        "select s.name, coalesce((select i.name \
             from pragma_table_list(s.name) l, pragma_table_info(s.name) i \
             where l.schema = 'main' and l.wr and i.pk = 1), 'rowid') \
         from sqlite_schema s where s.type = 'table' and s.rootpage > 0 order by s.name",
    )
    .fetch_all(&mut *file)
    .await?;
    for (table, key) in tables {
        // Names of the file's own schema, quoted.
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
