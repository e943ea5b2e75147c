//! Reads the schema from a database's own catalog.

use std::collections::{BTreeMap, BTreeSet};

use store::{Scope, database::Dialect, params};

use crate::fixtures::{TestStore, statement};

/// A foreign key. Its columns have the order of the referenced columns.
#[derive(Debug, Clone)]
pub(crate) struct ForeignKey {
    pub(crate) table: String,
    pub(crate) columns: Vec<String>,
    pub(crate) parent: String,
    pub(crate) parent_columns: Vec<String>,
}

/// Returns all tables that belong to tenants. Leaves out the tables of schema versions, of SQLite's transaction numbers
/// and of servers.
pub(crate) async fn tables(db: &TestStore) -> Vec<String> {
    let sql = match db.dialect() {
        Dialect::Postgres => {
            "select cast(relname as text) as name from pg_class \
             where relnamespace = 'automation'::regnamespace and relkind in ('r', 'p') \
             and relname not in ('schema_versions', 'servers') order by relname"
        }
        Dialect::Sqlite => {
            "select name from sqlite_schema where type = 'table' \
             and name not in ('transaction_ids', 'schema_versions', 'servers') order by name"
        }
    };
    texts(db, sql).await
}

/// Returns all columns as `table.column null?`.
pub(crate) async fn columns(db: &TestStore) -> BTreeSet<String> {
    let sql = match db.dialect() {
        Dialect::Postgres => {
            "select table_name || '.' || column_name || ' ' || lower(is_nullable) as name \
             from information_schema.columns \
             where table_schema = 'automation' and table_name <> 'schema_versions'"
        }
        Dialect::Sqlite => {
            "select t.name || '.' || c.name || iif(c.\"notnull\" or c.pk > 0, ' no', ' yes') \
             as name from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table' \
             and t.name not in ('transaction_ids', 'schema_versions')"
        }
    };
    texts(db, sql).await.into_iter().collect()
}

/// Returns the named unique indexes with their columns, without primary keys.
pub(crate) async fn unique_indexes(db: &TestStore) -> BTreeMap<String, String> {
    let sql = match db.dialect() {
        Dialect::Postgres => {
            "select cast(i.relname as text) as name, \
             cast(t.relname as text) || ' ' || string_agg(a.attname, ',' order by k.n) as columns \
             from pg_index x join pg_class i on i.oid = x.indexrelid \
             join pg_class t on t.oid = x.indrelid \
             cross join unnest(x.indkey) with ordinality k (attnum, n) \
             join pg_attribute a on a.attrelid = t.oid and a.attnum = k.attnum \
             where t.relnamespace = 'automation'::regnamespace \
             and x.indisunique and not x.indisprimary group by i.relname, t.relname"
        }
        Dialect::Sqlite => {
            "select i.name, t.name || ' ' || group_concat(c.name, ',' order by c.seqno) as columns \
             from sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) c \
             where t.type = 'table' and i.\"unique\" and i.origin <> 'pk' group by i.name"
        }
    };
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    let rows = tx.fetch_all(statement(sql), params![]).await.unwrap();
    rows.iter()
        .map(|row| (row.get("name").unwrap(), row.get("columns").unwrap()))
        .collect()
}

/// Returns the named checks.
pub(crate) async fn checks(db: &TestStore) -> BTreeSet<String> {
    match db.dialect() {
        Dialect::Postgres => {
            let sql = "select cast(conname as text) as name from pg_constraint \
                where connamespace = 'automation'::regnamespace and contype = 'c'";
            texts(db, sql).await.into_iter().collect()
        }
        Dialect::Sqlite => {
            let sql = "select sql as name from sqlite_schema where type = 'table'";
            let tables = texts(db, sql).await.join("\n");
            let words: Vec<&str> = tables.split_whitespace().collect();
            words
                .windows(3)
                .filter(|words| words[0] == "constraint" && words[2].starts_with("check"))
                .map(|words| words[1].to_owned())
                .collect()
        }
    }
}

/// Returns all foreign keys.
pub(crate) async fn foreign_keys(db: &TestStore) -> Vec<ForeignKey> {
    let sql = match db.dialect() {
        Dialect::Postgres => {
            "select cast(c.conname as text) as id, cast(t.relname as text) as child, \
             cast(p.relname as text) as parent, cast(a.attname as text) as from_column, \
             cast(b.attname as text) as to_column from pg_constraint c \
             join pg_class t on t.oid = c.conrelid join pg_class p on p.oid = c.confrelid \
             cross join unnest(c.conkey, c.confkey) with ordinality k (child, parent, n) \
             join pg_attribute a on a.attrelid = t.oid and a.attnum = k.child \
             join pg_attribute b on b.attrelid = p.oid and b.attnum = k.parent \
             where c.contype = 'f' and c.connamespace = 'automation'::regnamespace \
             order by t.relname, c.conname, k.n"
        }
        Dialect::Sqlite => {
            "select cast(k.id as text) as id, t.name as child, k.\"table\" as parent, \
             k.\"from\" as from_column, k.\"to\" as to_column \
             from sqlite_schema t, pragma_foreign_key_list(t.name) k where t.type = 'table' \
             order by t.name, k.id, k.seq"
        }
    };
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    let mut keys: BTreeMap<(String, String), ForeignKey> = BTreeMap::new();
    for row in tx.fetch_all(statement(sql), params![]).await.unwrap() {
        let table: String = row.get("child").unwrap();
        let key = (table.clone(), row.get::<String>("id").unwrap());
        let key = keys.entry(key).or_insert_with(|| ForeignKey {
            table,
            columns: Vec::new(),
            parent: row.get("parent").unwrap(),
            parent_columns: Vec::new(),
        });
        key.columns.push(row.get("from_column").unwrap());
        key.parent_columns.push(row.get("to_column").unwrap());
    }
    keys.into_values().collect()
}

/// Returns the options with which SQLite was built.
pub(crate) async fn compile_options(db: &TestStore) -> BTreeSet<String> {
    let sql = "select compile_options as name from pragma_compile_options";
    texts(db, sql).await.into_iter().collect()
}

async fn texts(db: &TestStore, sql: &'static str) -> Vec<String> {
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    let rows = tx.fetch_all(statement(sql), params![]).await.unwrap();
    rows.iter().map(|row| row.get("name").unwrap()).collect()
}
