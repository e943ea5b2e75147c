//! The invariants that hold in every state of the database.

use std::sync::LazyLock;

use store::{Scope, database::Statement, params};
use testkit::invariants::VIOLATION_QUERIES;

use crate::fixtures::{TestStore, statement};

static STATEMENTS: LazyLock<Vec<(&str, &Statement)>> = LazyLock::new(|| {
    VIOLATION_QUERIES
        .iter()
        .map(|(violation, sql)| (*violation, statement(sql)))
        .collect()
});

/// Fails with the name of the violated invariant.
pub(crate) async fn assert_invariants(db: &TestStore) {
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    for (violation, query) in &*STATEMENTS {
        let found = tx.fetch_all(query, params![]).await.unwrap();
        assert!(found.is_empty(), "found {violation}: {found:?}");
    }
}
