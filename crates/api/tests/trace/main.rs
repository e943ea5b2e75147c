//! The live trace, over both databases: what readers get, whatever happens to them on the way.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "scenarios and their helpers are tests"
)]

mod deltas;
mod feeds;
mod interleavings;
mod lives;
mod readers;
mod stage;

/// Makes a test of each scenario for each database.
macro_rules! scenarios {
    ($($module:ident: [$($scenario:ident),* $(,)?])*) => {
        mod on_sqlite {
            $($(
                #[tokio::test]
                async fn $scenario() {
                    crate::$module::$scenario(&crate::stage::Stage::on_sqlite().await).await;
                }
            )*)*
        }

        mod on_postgres {
            $($(
                #[tokio::test]
                async fn $scenario() {
                    crate::$module::$scenario(&crate::stage::Stage::on_postgres().await).await;
                }
            )*)*
        }
    };
}

scenarios! {
    interleavings: [
        whatever_happens_on_the_way_the_whole_is_the_table,
    ]
    lives: [
        a_trace_goes_on_with_what_comes,
        many_tabs_see_the_same,
        a_silent_trace_sends_comments,
        a_server_that_stops_ends_every_trace_at_once,
        a_session_that_is_gone_ends_its_trace,
        another_tenants_session_is_not_there,
    ]
    readers: [
        whoever_comes_after_retention_gets_one_snapshot,
        a_snapshot_has_what_waits_for_people,
        a_number_of_the_future_gets_one_snapshot,
        a_slow_reader_misses_nothing_and_holds_up_nobody,
        a_reader_that_was_away_for_too_long_is_dropped,
    ]
    deltas: [
        text_is_seen_while_it_is_written,
        whoever_joins_in_the_middle_gets_the_text_so_far,
        the_viewer_of_another_replica_sees_the_text,
    ]
    feeds: [
        a_tenants_trace_has_all_that_happens_once,
        an_automations_trace_has_what_belongs_to_it,
        whoever_comes_to_a_feed_too_late_is_told_once,
    ]
}
