//! The live trace on both databases: each reader receives every event once, also after breaks and slow reads.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "scenarios and their helpers are tests"
)]

mod deltas;
mod feeds;
mod interleavings;
mod lifecycle;
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
        trace_matches_log_despite_random_disconnects,
    ]
    lifecycle: [
        trace_streams_new_events,
        many_readers_get_same_events,
        idle_trace_sends_heartbeat_comments,
        server_stop_ends_all_traces,
        session_deletion_ends_its_trace,
        trace_of_another_tenant_is_not_found,
    ]
    readers: [
        session_reader_behind_retention_gets_one_resync,
        resync_has_pending_approvals,
        cursor_beyond_log_gets_one_resync,
        slow_reader_misses_nothing_and_blocks_no_other,
        reader_over_client_timeout_is_dropped,
    ]
    deltas: [
        live_text_is_streamed_as_deltas,
        late_reader_gets_live_text_from_start,
        reader_on_another_replica_gets_live_text,
    ]
    feeds: [
        tenant_trace_has_each_event_once,
        tenant_trace_has_text_of_chosen_sessions_only,
        tenant_trace_with_text_of_another_tenants_session_is_not_found,
        tenant_trace_outlives_session_whose_text_it_has,
        automation_trace_has_only_its_events,
        feed_reader_behind_retention_gets_one_resync,
    ]
}
