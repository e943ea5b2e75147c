//! Row-level security, the second protection beside `where tenant_id` in each statement.

use model::TenantId;
use sqlx::{Connection as _, Executor as _, PgConnection};
use store::{Scope, database::Error, params};

use crate::{
    catalog,
    fixtures::{TABLES, TestStore, World},
};

pub(crate) async fn every_table_has_row_security(db: &TestStore) {
    let sql = "select cast(c.relname as text) as name, \
        c.relrowsecurity and c.relforcerowsecurity and exists ( \
        select from pg_policy p where p.polrelid = c.oid and p.polcmd = '*') as guarded \
        from pg_class c where c.relnamespace = 'automation'::regnamespace and c.relkind in ('r', 'p')";
    let rows = db.run(Scope::System, sql, params![]).await.unwrap();
    assert_eq!(rows.len(), catalog::tables(db).await.len() + 2);
    for row in rows {
        let name: String = row.get("name").unwrap();
        assert!(row.get::<bool>("guarded").unwrap(), "{name}");
    }
}

pub(crate) async fn tenant_reads_and_writes_only_its_own_rows(db: &TestStore) {
    let (ours, theirs) = (World::create(db).await, World::create(db).await);
    let us = Scope::Tenant(TenantId::from_uuid(ours.tenant));
    let nobody = Scope::Tenant(TenantId::from_uuid(crate::fixtures::id()));
    for table in TABLES {
        let all = db.count(Scope::System, table).await;
        assert_eq!(db.count(us, table).await, all / 2, "{table}");
        assert_eq!(db.count(nobody, table).await, 0, "{table}");

        let row = theirs.row(table);
        let stored = db.run(us, &row.insert_into(table), row.params()).await;
        assert!(refused_by_policy(&stored), "{table}: {stored:?}");

        // Rows of other tenants cannot be found by an update or a delete.
        let tenant = if *table == "tenants" {
            "id"
        } else {
            "tenant_id"
        };
        for sql in [
            format!(
                "update {table} set {tenant} = {tenant} where {tenant} = $1 returning {tenant}"
            ),
            format!("delete from {table} where {tenant} = $1 returning {tenant}"),
        ] {
            let touched = db.run(us, &sql, params![theirs.tenant]).await.unwrap();
            assert!(touched.is_empty(), "{sql}");
        }
    }
}

fn refused_by_policy<T>(result: &Result<T, Error>) -> bool {
    match result {
        Err(Error::Statement { source, .. }) => source
            .as_database_error()
            .is_some_and(|error| error.code().as_deref() == Some("42501")),
        _ => false,
    }
}

pub(crate) async fn connection_without_scope_reads_and_writes_nothing(db: &TestStore) {
    World::create(db).await;
    let mut bare = PgConnection::connect(db.home.url()).await.unwrap();
    // After a transaction has set them, the settings are empty instead of unset.
    for _ in 0..2 {
        for table in TABLES.iter().chain(&["schema_versions", "servers"]) {
            let sql = format!("select count(*) from automation.{table}");
            let seen: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
                .fetch_one(&mut bare)
                .await
                .unwrap();
            assert_eq!(seen, 0, "{table}");
        }
        let insert = "insert into automation.tenants (id, name, created_at) \
            values (gen_random_uuid(), 'sneaked in', now())";
        let refused = bare.execute(insert).await.unwrap_err();
        let code = refused.as_database_error().unwrap().code().unwrap();
        assert_eq!(code, "42501");
        let set = "begin; set local matins.scope = 'system'; set local matins.tenant = \
            '00000000-0000-0000-0000-000000000001'; commit";
        sqlx::raw_sql(set).execute(&mut bare).await.unwrap();
    }
}
