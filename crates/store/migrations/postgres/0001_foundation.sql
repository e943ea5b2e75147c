-- Every table of the first version.
--
-- Rules of every table, each held by a test:
--   * `tenant_id` is in every foreign key between tenant-owned tables, so that a reference across
--     tenants cannot be stored.
--   * Row-level security is enabled and forced: without a scope nothing is seen or written.
--   * What is unique is a named index, with the same name in both databases; what pairs a state
--     with its columns is a named check.
--   * No default asks for the time: instants come from the caller.
-- The same tables in SQLite: ../sqlite/0001_foundation.sql.

create table schema_versions (
    version bigint primary key,
    name text not null
);

create table tenants (
    id uuid primary key,
    name text not null,
    created_at timestamptz not null
);
create unique index tenants_one_per_name on tenants (name);

create table harnesses (
    id uuid primary key,
    tenant_id uuid not null references tenants (id),
    name text not null,
    config jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create unique index harnesses_of_tenant on harnesses (tenant_id, id);
create unique index harnesses_one_per_name on harnesses (tenant_id, name);

-- One data folder serves several tenants, so an instance's id repeats across them.
create table instances (
    tenant_id uuid not null references tenants (id),
    id uuid not null,
    name text not null,
    kind text not null,
    state text not null,
    config jsonb not null,
    last_seen_at timestamptz,
    created_at timestamptz not null,
    primary key (tenant_id, id),
    constraint instances_kind_known check (kind in ('host', 'directory', 'pod')),
    constraint instances_state_known check (state in ('online', 'offline', 'gone'))
);
create unique index instances_one_per_name on instances (tenant_id, name) where state <> 'gone';

-- Deleting is a mark, so that runs keep their history.
create table automations (
    id uuid primary key,
    tenant_id uuid not null references tenants (id),
    name text not null,
    kind text not null,
    prompt text not null,
    harness_id uuid not null,
    cwd text,
    session_mode text not null,
    bound_session_key text,
    current_session_id uuid,
    policies jsonb not null,
    settings jsonb not null,
    permissions jsonb not null,
    paused_at timestamptz,
    pause_reason text,
    attention text,
    consecutive_failures bigint not null default 0,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    foreign key (tenant_id, harness_id) references harnesses (tenant_id, id),
    constraint automations_kind_known check (kind in ('user', 'system')),
    constraint automations_session_mode_known
        check (session_mode in ('bound', 'continuous', 'fresh')),
    constraint automations_bound_to_a_key
        check ((session_mode = 'bound') = (bound_session_key is not null)),
    constraint automations_pause_has_a_reason
        check ((paused_at is null) = (pause_reason is null)),
    constraint automations_failures_counted check (consecutive_failures >= 0)
);
create unique index automations_of_tenant on automations (tenant_id, id);
create unique index automations_one_per_name on automations (tenant_id, name)
    where deleted_at is null;
create index automations_by_bound_session_key on automations (tenant_id, bound_session_key)
    where bound_session_key is not null and deleted_at is null;
create index automations_by_current_session on automations (current_session_id)
    where current_session_id is not null;

create table agent_sessions (
    id uuid primary key,
    tenant_id uuid not null references tenants (id),
    kind text not null,
    type text not null,
    state text not null,
    state_reason text,
    session_key text,
    title text,
    instance_id uuid,
    cwd text not null,
    schedule_id uuid,
    channel text,
    chat_id text,
    thread text,
    last_seq bigint not null default 0,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    ended_at timestamptz,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    foreign key (tenant_id, schedule_id) references automations (tenant_id, id),
    constraint agent_sessions_kind_known
        check (kind in ('interactive', 'automation', 'background')),
    constraint agent_sessions_type_known
        check (type in ('regular', 'channel_slack', 'schedule_cron')),
    constraint agent_sessions_state_known
        check (state in ('draft', 'active', 'paused', 'done', 'failed', 'archived')),
    constraint agent_sessions_over_has_an_end
        check ((state in ('done', 'failed', 'archived')) = (ended_at is not null)),
    constraint agent_sessions_last_seq_counted check (last_seq >= 0)
);
create unique index agent_sessions_of_tenant on agent_sessions (tenant_id, id);
create unique index agent_sessions_one_per_key on agent_sessions (tenant_id, session_key);
create index agent_sessions_by_age on agent_sessions (tenant_id, created_at, id);
create index agent_sessions_by_schedule on agent_sessions (schedule_id, created_at)
    where schedule_id is not null;

-- Not cascading: the link must be cleared before its session can go.
alter table automations
    add foreign key (tenant_id, current_session_id) references agent_sessions (tenant_id, id);

-- Seats. `instance_id` and `acp_session_id` are the seat's pin and its memory.
create table agent_definitions (
    id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    role text not null,
    name text not null,
    harness_id uuid not null,
    instructions text,
    is_entry boolean not null,
    instance_id uuid,
    acp_session_id text,
    turns bigint not null default 0,
    settings jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, harness_id) references harnesses (tenant_id, id),
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    constraint agent_definitions_turns_counted check (turns >= 0)
);
create unique index agent_definitions_of_tenant on agent_definitions (tenant_id, id);
create unique index agent_definitions_of_session on agent_definitions (tenant_id, session_id, id);
create unique index agent_definitions_one_entry_per_session on agent_definitions (session_id)
    where is_entry;

create table automation_triggers (
    id uuid primary key,
    tenant_id uuid not null,
    automation_id uuid not null,
    kind text not null,
    spec jsonb not null,
    next_scheduled_for timestamptz,
    next_fire_at timestamptz,
    last_scheduled_for timestamptz,
    done_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint automation_triggers_kind_known
        check (kind in ('cron', 'every', 'at', 'webhook', 'manual')),
    constraint automation_triggers_next_is_paired
        check ((next_scheduled_for is null) = (next_fire_at is null)),
    constraint automation_triggers_over_has_no_next
        check (next_fire_at is null or (done_at is null and deleted_at is null)),
    constraint automation_triggers_unscheduled_has_no_next
        check (next_fire_at is null or kind in ('cron', 'every', 'at'))
);
create unique index automation_triggers_of_tenant on automation_triggers (tenant_id, id);
create unique index automation_triggers_one_manual_per_automation
    on automation_triggers (automation_id) where kind = 'manual' and deleted_at is null;
create index automation_triggers_by_automation on automation_triggers (automation_id);
create index automation_triggers_due on automation_triggers (next_fire_at)
    where next_fire_at is not null;

create table agent_tasks (
    id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    role text not null,
    title text not null,
    description text not null,
    status text not null,
    result text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint agent_tasks_status_known
        check (status in ('PENDING', 'READY', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED')),
    constraint agent_tasks_running_has_a_start
        check (status <> 'RUNNING' or started_at is not null),
    constraint agent_tasks_over_has_an_end
        check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (ended_at is not null))
);
create unique index agent_tasks_of_tenant on agent_tasks (tenant_id, id);
create unique index agent_tasks_of_session on agent_tasks (tenant_id, session_id, id);
create index agent_tasks_by_session on agent_tasks (session_id, created_at);

-- Both ends lie in one session.
create table task_dependencies (
    tenant_id uuid not null,
    session_id uuid not null,
    task_id uuid not null,
    depends_on_id uuid not null,
    primary key (task_id, depends_on_id),
    foreign key (tenant_id, session_id, task_id)
        references agent_tasks (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, session_id, depends_on_id)
        references agent_tasks (tenant_id, session_id, id) on delete cascade,
    constraint task_dependencies_not_on_itself check (task_id <> depends_on_id)
);
create index task_dependencies_by_depends_on on task_dependencies (depends_on_id);

-- One row for each attempt. The row's own id is the fence: it is claimed once.
create table agent_runs (
    id uuid primary key,
    tenant_id uuid not null references tenants (id),
    input_id uuid not null,
    attempt bigint not null,
    failures bigint not null default 0,
    status text not null,
    origin text not null,
    priority bigint not null,
    session_id uuid,
    seat_id uuid,
    automation_id uuid,
    trigger_id uuid,
    task_id uuid,
    scheduled_for timestamptz,
    missed_until timestamptz,
    occurrences bigint not null default 1,
    exclusive boolean not null,
    content text not null,
    not_before timestamptz,
    instance_id uuid,
    worker_id text,
    claimed_at timestamptz,
    started_at timestamptz,
    ended_at timestamptz,
    cancel_requested_at timestamptz,
    cancel_reason text,
    reason text,
    message text,
    stop_reason text,
    flags jsonb not null default '{}',
    usage jsonb not null default '{}',
    acp_session_id text,
    interrupted_run_id uuid,
    prompt_ref jsonb,
    input_at timestamptz not null,
    created_at timestamptz not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, session_id, seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    foreign key (tenant_id, trigger_id) references automation_triggers (tenant_id, id),
    foreign key (tenant_id, task_id) references agent_tasks (tenant_id, id) on delete cascade,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    constraint agent_runs_status_known check (status in (
        'queued', 'deferred', 'delivered', 'running',
        'succeeded', 'failed', 'cancelled', 'stalled', 'skipped', 'missed')),
    constraint agent_runs_origin_known
        check (origin in ('person', 'occurrence', 'task', 'message')),
    constraint agent_runs_attempts_counted
        check (attempt >= 1 and failures >= 0 and occurrences >= 1),
    constraint agent_runs_over_has_an_end check (
        (status in ('succeeded', 'failed', 'cancelled', 'stalled', 'skipped', 'missed'))
        = (ended_at is not null)),
    constraint agent_runs_seat_has_a_session check (seat_id is null or session_id is not null),
    constraint agent_runs_open_has_a_seat check (
        status not in ('queued', 'deferred', 'delivered', 'running') or seat_id is not null),
    constraint agent_runs_waiting_is_unclaimed check (
        status not in ('queued', 'deferred')
        or (worker_id is null and claimed_at is null and started_at is null)),
    constraint agent_runs_taken_has_a_worker check (
        status not in ('delivered', 'running')
        or (worker_id is not null and claimed_at is not null)),
    constraint agent_runs_running_has_a_start check (
        status <> 'running' or started_at is not null),
    constraint agent_runs_unfired_has_a_reason check (
        status not in ('skipped', 'missed') or (reason is not null and trigger_id is not null)),
    constraint agent_runs_occurrence_is_complete check (
        (trigger_id is null) = (scheduled_for is null)
        and (trigger_id is null or automation_id is not null)
        and (origin <> 'occurrence' or trigger_id is not null)),
    constraint agent_runs_stretch_is_missed check (missed_until is null or status = 'missed'),
    constraint agent_runs_task_is_named check (origin <> 'task' or task_id is not null),
    constraint agent_runs_cancel_is_requested check (
        cancel_reason is null or cancel_requested_at is not null),
    constraint agent_runs_belongs_somewhere check (
        session_id is not null or automation_id is not null)
);
create unique index agent_runs_of_tenant on agent_runs (tenant_id, id);
alter table agent_runs
    add foreign key (tenant_id, interrupted_run_id) references agent_runs (tenant_id, id)
        on delete cascade;
create unique index agent_runs_one_row_per_attempt on agent_runs (input_id, attempt);
create unique index agent_runs_one_first_attempt_per_occurrence
    on agent_runs (trigger_id, scheduled_for) where attempt = 1 and trigger_id is not null;
create unique index agent_runs_one_active_per_seat on agent_runs (seat_id)
    where status in ('queued', 'delivered', 'running');
create unique index agent_runs_one_active_per_automation on agent_runs (automation_id)
    where exclusive and status in ('queued', 'delivered', 'running');
create index agent_runs_claimable on agent_runs (priority, input_at, id) where status = 'queued';
create index agent_runs_taken on agent_runs (claimed_at)
    where status in ('delivered', 'running');
create index agent_runs_deferred_by_seat on agent_runs (seat_id, priority, input_at, id)
    where status = 'deferred';
create index agent_runs_deferred_by_automation on agent_runs (automation_id)
    where status = 'deferred' and automation_id is not null;
create index agent_runs_deferred_by_time on agent_runs (not_before)
    where status = 'deferred' and not_before is not null;
create index agent_runs_by_automation on agent_runs (automation_id, created_at desc)
    where automation_id is not null;
create index agent_runs_by_session on agent_runs (session_id, created_at);
create index agent_runs_by_seat on agent_runs (seat_id) where seat_id is not null;
create index agent_runs_by_task on agent_runs (task_id) where task_id is not null;
create index agent_runs_by_interrupted_run on agent_runs (interrupted_run_id)
    where interrupted_run_id is not null;

-- The transcript, for people, audit and replay; also the messages between agents.
create table agent_messages (
    id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    seq bigint not null,
    run_id uuid,
    from_seat_id uuid,
    to_seat_id uuid,
    role text not null,
    kind text not null,
    content text not null,
    metadata jsonb not null,
    created_at timestamptz not null,
    delivered_at timestamptz,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    foreign key (tenant_id, session_id, from_seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, session_id, to_seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    constraint agent_messages_role_known check (role in ('user', 'assistant', 'system', 'tool')),
    constraint agent_messages_kind_known check (kind in (
        'text', 'thought', 'tool_call', 'plan', 'permission', 'notice', 'message')),
    constraint agent_messages_seq_counted check (seq >= 1)
);
create unique index agent_messages_of_tenant on agent_messages (tenant_id, id);
create unique index agent_messages_one_per_seq on agent_messages (session_id, seq);
create index agent_messages_by_run on agent_messages (run_id) where run_id is not null;
create index agent_messages_by_from_seat on agent_messages (from_seat_id)
    where from_seat_id is not null;
create index agent_messages_by_to_seat on agent_messages (to_seat_id, seq)
    where to_seat_id is not null;

-- A session's ordered log, numbered under the lock of the session's row.
create table session_events (
    session_id uuid not null,
    seq bigint not null,
    tenant_id uuid not null,
    kind text not null,
    ref_id uuid not null,
    body jsonb not null,
    created_at timestamptz not null,
    primary key (session_id, seq),
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint session_events_kind_known
        check (kind in ('session', 'run', 'message', 'task', 'approval')),
    constraint session_events_seq_counted check (seq >= 1)
);

-- Internal: what was really sent and what really went wrong. Never shown in a transcript.
create table run_records (
    run_id uuid primary key,
    tenant_id uuid not null,
    prompt_ref jsonb,
    rendered_prompt text,
    variables jsonb,
    diagnostics jsonb,
    error text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade
);
create index run_records_by_age on run_records (created_at);

-- Narrow, and without an index on what changes, so that a beat is a heap-only update.
create table run_heartbeats (
    run_id uuid primary key,
    tenant_id uuid not null,
    worker_id text not null,
    beat_at timestamptz not null,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

-- Text being written, removed when the turn ends. `position` counts from 0.
create table run_live (
    run_id uuid not null,
    position bigint not null,
    tenant_id uuid not null,
    text text not null,
    written_at timestamptz not null,
    primary key (run_id, position),
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint run_live_position_counted check (position >= 0)
);

-- A permission request of one attempt that waits for a person until its deadline.
create table approvals (
    id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    run_id uuid not null,
    tool_kind text not null,
    title text not null,
    request jsonb not null,
    state text not null,
    deadline_at timestamptz not null,
    decided_at timestamptz,
    decided_by text,
    created_at timestamptz not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint approvals_state_known
        check (state in ('pending', 'allowed', 'denied', 'expired', 'void')),
    constraint approvals_decided_has_a_time
        check ((state = 'pending') = (decided_at is null)),
    constraint approvals_person_is_named
        check ((state in ('allowed', 'denied')) = (decided_by is not null))
);
create unique index approvals_of_tenant on approvals (tenant_id, id);
create index approvals_by_run on approvals (run_id);
create index approvals_by_session on approvals (session_id);
create index approvals_pending on approvals (deadline_at) where state = 'pending';

create table agent_artifacts (
    id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    run_id uuid,
    name text not null,
    uri text not null,
    media_type text not null,
    sha256 text not null,
    size_bytes bigint not null,
    verified_at timestamptz,
    created_at timestamptz not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint agent_artifacts_size_counted check (size_bytes >= 0),
    constraint agent_artifacts_sha256_is_whole check (length(sha256) = 64)
);
create unique index agent_artifacts_of_tenant on agent_artifacts (tenant_id, id);
create index agent_artifacts_by_session on agent_artifacts (session_id, created_at);
create index agent_artifacts_by_run on agent_artifacts (run_id) where run_id is not null;

create table agent_memory_entries (
    id uuid primary key,
    tenant_id uuid not null,
    automation_id uuid not null,
    key text not null,
    value text not null,
    confidence double precision not null,
    expires_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint agent_memory_entries_confidence_in_range check (confidence between 0 and 1)
);
create unique index agent_memory_entries_of_tenant on agent_memory_entries (tenant_id, id);
create unique index agent_memory_entries_one_per_key on agent_memory_entries (automation_id, key);
create index agent_memory_entries_expiring on agent_memory_entries (expires_at)
    where expires_at is not null;

-- `sealed` is a Fernet token that holds tenant, id and version beside the secret.
create table agent_credentials (
    id uuid primary key,
    tenant_id uuid not null references tenants (id),
    name text not null,
    kind text not null,
    version bigint not null,
    sealed text not null,
    expires_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint agent_credentials_kind_known check (kind in ('api_key', 'oauth')),
    constraint agent_credentials_version_counted check (version >= 1)
);
create unique index agent_credentials_of_tenant on agent_credentials (tenant_id, id);
create unique index agent_credentials_one_per_name on agent_credentials (tenant_id, name);

-- Only the hash of a token is kept. A runtime's token names its instance, a run's token its run.
create table api_tokens (
    id uuid primary key,
    tenant_id uuid not null references tenants (id),
    role text not null,
    name text not null,
    hash bytea not null,
    instance_id uuid,
    run_id uuid,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint api_tokens_role_known
        check (role in ('admin', 'member', 'viewer', 'runtime', 'run')),
    constraint api_tokens_runtime_has_an_instance
        check ((role = 'runtime') = (instance_id is not null)),
    constraint api_tokens_run_is_named check ((role = 'run') = (run_id is not null))
);
create unique index api_tokens_of_tenant on api_tokens (tenant_id, id);
create unique index api_tokens_one_per_hash on api_tokens (hash);
create index api_tokens_by_run on api_tokens (run_id) where run_id is not null;

-- The answer given to a request, so that the same request repeated gets it again.
create table idempotency_keys (
    tenant_id uuid not null references tenants (id),
    key text not null,
    request_sha256 bytea not null,
    status bigint not null,
    response jsonb not null,
    created_at timestamptz not null,
    primary key (tenant_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Ids of received webhooks, so that a replay changes nothing.
create table webhook_receipts (
    trigger_id uuid not null,
    webhook_id text not null,
    tenant_id uuid not null,
    received_at timestamptz not null,
    primary key (trigger_id, webhook_id),
    foreign key (tenant_id, trigger_id) references automation_triggers (tenant_id, id)
);
create index webhook_receipts_by_age on webhook_receipts (received_at);

-- Notifications on their way out, one for each event and endpoint.
create table webhook_deliveries (
    id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    seq bigint not null,
    endpoint text not null,
    payload jsonb not null,
    state text not null,
    attempts bigint not null default 0,
    next_attempt_at timestamptz,
    last_error text,
    ended_at timestamptz,
    created_at timestamptz not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint webhook_deliveries_state_known
        check (state in ('pending', 'delivered', 'failed')),
    constraint webhook_deliveries_pending_has_a_next
        check ((state = 'pending') = (next_attempt_at is not null)),
    constraint webhook_deliveries_over_has_an_end
        check ((state = 'pending') = (ended_at is null)),
    constraint webhook_deliveries_attempts_counted check (attempts >= 0)
);
create unique index webhook_deliveries_of_tenant on webhook_deliveries (tenant_id, id);
create unique index webhook_deliveries_one_per_event
    on webhook_deliveries (session_id, seq, endpoint);
create index webhook_deliveries_due on webhook_deliveries (next_attempt_at)
    where state = 'pending';

-- Row-level security, the second net under every `where tenant_id`. The settings are local to a
-- transaction; one that sets none sees and writes nothing. The subselects are there so that a
-- statement reads each setting once, not once for each row.
do $$
declare
    owned record;
begin
    for owned in
        select c.oid::regclass as name,
            case when c.relname = 'tenants' then 'id' else 'tenant_id' end as tenant
        from pg_class c
        where c.relnamespace = 'automation'::regnamespace
            and c.relkind = 'r'
            and c.relname <> 'schema_versions'
    loop
        execute format(
            'create policy scope on %s using ('
            || '(select current_setting(''matins.scope'', true)) = ''system'''
            || ' or %I = (select nullif(current_setting(''matins.tenant'', true), '''')::uuid))',
            owned.name, owned.tenant);
        execute format('alter table %s enable row level security', owned.name);
        execute format('alter table %s force row level security', owned.name);
    end loop;
end
$$;

create policy scope on schema_versions
    using ((select current_setting('matins.scope', true)) = 'system');
alter table schema_versions enable row level security;
alter table schema_versions force row level security;

-- Wakes readers of changed sessions: once for each session in a statement, with its id and
-- nothing else. Sent by the database, so that no code path can forget it.
create function wake_sessions() returns trigger
language plpgsql
set search_path = automation, pg_temp
as $$
begin
    perform pg_notify('matins_wake', changed.session_id::text)
    from (select distinct session_id from inserted) changed;
    return null;
end
$$;

create trigger session_events_wake
    after insert on session_events
    referencing new table as inserted
    for each statement execute function wake_sessions();
