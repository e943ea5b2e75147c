//! The API as clients see it, on both databases.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod access;
mod approvals;
mod automations;
mod budgets;
mod cursors;
mod document;
mod errors;
mod formats;
mod gate;
mod health;
mod once;
mod prechecks;
mod sessions;
mod tenants;
mod unified;
mod world;

/// Makes a test of each behaviour for each database.
macro_rules! on_both {
    ($($module:ident: [$($name:ident),* $(,)?])*) => {
        mod on_sqlite { on_both! { @tests Sqlite $($module: [$($name),*])* } }
        mod on_postgres { on_both! { @tests Postgres $($module: [$($name),*])* } }
    };
    (@tests $dialect:ident $($module:ident: [$($name:ident),*])*) => {$(
        mod $module {$(
            #[tokio::test]
            async fn $name() {
                let world = crate::world::World::new(store::database::Dialect::$dialect).await;
                crate::$module::$name(&world).await;
            }
        )*}
    )*};
}

on_both! {
    approvals: [
        what_waits_is_listed_and_decided_by_members,
        what_is_over_is_refused_with_its_state,
        a_decision_that_is_sent_again_is_answered_again,
    ]
    tenants: [
        what_is_another_tenants_answers_as_if_it_were_not_there,
        every_operation_asks_for_the_permission_that_its_document_names,
        nothing_is_answered_to_nobody,
    ]
    once: [
        the_same_request_with_the_same_key_creates_once,
        a_key_of_another_request_is_refused,
        a_request_that_was_refused_may_come_again_put_right,
        a_request_that_nobody_lived_to_answer_is_answered_by_what_it_made,
        a_secret_is_shown_once,
        what_moved_on_before_the_answer_is_answered_by_what_was_made,
        a_tenant_has_one_first_token_however_often_it_is_asked_for,
        what_is_sent_to_an_endpoint_on_demand_is_sent_once,
        a_secret_is_changed_once_and_shown_once,
        the_code_of_a_link_is_shown_once_and_kept_nowhere,
        a_trigger_that_is_asked_for_twice_is_added_once,
    ]
    sessions: [
        lists_show_regular_sessions_unless_asked_otherwise,
        lists_are_read_page_by_page,
        a_session_is_found_by_its_text,
        a_session_moves_on_in_its_life_and_nowhere_else,
        inputs_to_a_draft_wait_until_it_is_enabled,
        deleting_takes_two_steps_where_automations_are_bound,
        an_edit_of_what_has_changed_meanwhile_is_refused,
        a_conversation_is_read_replayed_and_exported,
    ]
    formats: [too_new_automation_is_refused_shown_paused_and_deleted]
    budgets: [
        a_budget_is_set_read_and_used_up,
        a_budget_that_makes_no_sense_is_refused_by_name,
        a_tenants_budget_is_set_by_admins_of_the_install,
        a_tenants_budget_names_what_was_seen,
    ]
    automations: [
        an_automation_is_made_shown_and_changed,
        the_default_of_every_policy_is_read,
        an_edit_names_what_it_has_seen,
        a_patch_changes_what_it_names,
        triggers_come_and_go,
        triggers_come_and_go_by_what_was_seen,
        fires_are_previewed_with_zone_and_offset,
        occurrences_are_listed_once_each,
        a_webhook_fires_once_and_a_replay_changes_nothing,
    ]
    access: [
        a_token_gives_what_its_role_gives_and_no_more,
        nobody_makes_a_token_that_gives_more_than_their_own,
        a_revoked_token_is_worth_nothing,
        a_link_signs_a_browser_in_once,
        a_browser_changes_things_from_our_pages_alone,
        too_many_attempts_to_sign_in_are_refused,
        only_admins_of_the_install_make_tenants,
        values_of_variables_are_for_those_who_may_change_them,
    ]
    health: [
        a_foreign_host_is_told_nothing_of_health,
        a_server_without_its_database_lives_and_is_not_ready,
        a_server_whose_loops_died_lives_and_is_not_ready,
        a_server_that_does_not_know_the_time_is_not_ready,
        figures_tell_of_a_database_that_others_share,
        figures_are_for_those_of_the_install_who_may_see_instances,
        figures_count_what_waits_of_all_tenants,
        requests_are_counted_by_their_route_and_no_label_holds_an_id,
        a_trace_counts_for_as_long_as_it_is_read,
        a_request_is_a_span_of_its_method_route_and_status,
    ]
    cursors: [
        a_trace_goes_on_behind_the_id_that_a_client_names,
    ]
    errors: [
        what_cannot_be_taken_is_named,
        what_is_not_there_is_a_problem_too,
        a_body_that_is_too_long_is_refused,
    ]
    prechecks: [
        a_precheck_is_set_by_those_who_may_change_agents,
        where_a_precheck_runs_is_changed_by_those_who_may_change_agents,
        a_precheck_that_runs_nothing_is_refused,
    ]
    unified: [
        the_server_says_whether_it_is_unified,
        what_a_browser_binds_goes_to_the_one_conversation,
        a_list_shows_what_goes_to_a_session,
    ]
}
