-- Every table of the first version.
--
-- The same tables, columns, named indexes and named checks as ../postgres/0001_foundation.sql,
-- which says the rules; a test compares the two. Here an id is 16 bytes, an instant integer
-- microseconds since 1970 in UTC, a boolean 0 or 1, and JSON is text. The version is kept in
-- `user_version`, and there is no row-level security.

create table tenants (
    id blob primary key,
    name text not null,
    created_at integer not null
) strict;
create unique index tenants_one_per_name on tenants (name);

create table harnesses (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    name text not null,
    config text not null check (json_valid(config)),
    created_at integer not null,
    updated_at integer not null
) strict;
create unique index harnesses_of_tenant on harnesses (tenant_id, id);
create unique index harnesses_one_per_name on harnesses (tenant_id, name);

-- One data folder serves several tenants, so an instance's id repeats across them.
create table instances (
    tenant_id blob not null references tenants (id),
    id blob not null,
    name text not null,
    kind text not null,
    state text not null,
    config text not null check (json_valid(config)),
    last_seen_at integer,
    created_at integer not null,
    primary key (tenant_id, id),
    constraint instances_kind_known check (kind in ('host', 'directory', 'pod')),
    constraint instances_state_known check (state in ('online', 'offline', 'gone'))
) strict;
create unique index instances_one_per_name on instances (tenant_id, name) where state <> 'gone';

-- Deleting is a mark, so that runs keep their history.
create table automations (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    name text not null,
    kind text not null,
    prompt text not null,
    harness_id blob not null,
    cwd text,
    session_mode text not null,
    bound_session_key text,
    current_session_id blob,
    policies text not null check (json_valid(policies)),
    settings text not null check (json_valid(settings)),
    permissions text not null check (json_valid(permissions)),
    paused_at integer,
    pause_reason text,
    attention text,
    consecutive_failures integer not null default 0,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    foreign key (tenant_id, harness_id) references harnesses (tenant_id, id),
    -- Not cascading: the link must be cleared before its session can go.
    foreign key (tenant_id, current_session_id) references agent_sessions (tenant_id, id),
    constraint automations_kind_known check (kind in ('user', 'system')),
    constraint automations_session_mode_known
        check (session_mode in ('bound', 'continuous', 'fresh')),
    constraint automations_bound_to_a_key
        check ((session_mode = 'bound') = (bound_session_key is not null)),
    constraint automations_pause_has_a_reason
        check ((paused_at is null) = (pause_reason is null)),
    constraint automations_failures_counted check (consecutive_failures >= 0)
) strict;
create unique index automations_of_tenant on automations (tenant_id, id);
create unique index automations_one_per_name on automations (tenant_id, name)
    where deleted_at is null;
create index automations_by_bound_session_key on automations (tenant_id, bound_session_key)
    where bound_session_key is not null and deleted_at is null;
create index automations_by_current_session on automations (current_session_id)
    where current_session_id is not null;

create table agent_sessions (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    kind text not null,
    type text not null,
    state text not null,
    state_reason text,
    session_key text,
    title text,
    instance_id blob,
    cwd text not null,
    schedule_id blob,
    channel text,
    chat_id text,
    thread text,
    last_seq integer not null default 0,
    created_at integer not null,
    updated_at integer not null,
    ended_at integer,
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
) strict;
create unique index agent_sessions_of_tenant on agent_sessions (tenant_id, id);
create unique index agent_sessions_one_per_key on agent_sessions (tenant_id, session_key);
create index agent_sessions_by_age on agent_sessions (tenant_id, created_at, id);
create index agent_sessions_by_schedule on agent_sessions (schedule_id, created_at)
    where schedule_id is not null;

-- Seats. `instance_id` and `acp_session_id` are the seat's pin and its memory.
create table agent_definitions (
    id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    role text not null,
    name text not null,
    harness_id blob not null,
    instructions text,
    is_entry integer not null check (is_entry in (0, 1)),
    instance_id blob,
    acp_session_id text,
    turns integer not null default 0,
    settings text not null check (json_valid(settings)),
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, harness_id) references harnesses (tenant_id, id),
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    constraint agent_definitions_turns_counted check (turns >= 0)
) strict;
create unique index agent_definitions_of_tenant on agent_definitions (tenant_id, id);
create unique index agent_definitions_of_session on agent_definitions (tenant_id, session_id, id);
create unique index agent_definitions_one_entry_per_session on agent_definitions (session_id)
    where is_entry;

create table automation_triggers (
    id blob primary key,
    tenant_id blob not null,
    automation_id blob not null,
    kind text not null,
    spec text not null check (json_valid(spec)),
    next_scheduled_for integer,
    next_fire_at integer,
    last_scheduled_for integer,
    done_at integer,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint automation_triggers_kind_known
        check (kind in ('cron', 'every', 'at', 'webhook', 'manual')),
    constraint automation_triggers_next_is_paired
        check ((next_scheduled_for is null) = (next_fire_at is null)),
    constraint automation_triggers_over_has_no_next
        check (next_fire_at is null or (done_at is null and deleted_at is null)),
    constraint automation_triggers_unscheduled_has_no_next
        check (next_fire_at is null or kind in ('cron', 'every', 'at'))
) strict;
create unique index automation_triggers_of_tenant on automation_triggers (tenant_id, id);
create unique index automation_triggers_one_manual_per_automation
    on automation_triggers (automation_id) where kind = 'manual' and deleted_at is null;
create index automation_triggers_by_automation on automation_triggers (automation_id);
create index automation_triggers_due on automation_triggers (next_fire_at)
    where next_fire_at is not null;

create table agent_tasks (
    id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    role text not null,
    title text not null,
    description text not null,
    status text not null,
    result text,
    created_at integer not null,
    updated_at integer not null,
    started_at integer,
    ended_at integer,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint agent_tasks_status_known
        check (status in ('PENDING', 'READY', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED')),
    constraint agent_tasks_running_has_a_start
        check (status <> 'RUNNING' or started_at is not null),
    constraint agent_tasks_over_has_an_end
        check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (ended_at is not null))
) strict;
create unique index agent_tasks_of_tenant on agent_tasks (tenant_id, id);
create unique index agent_tasks_of_session on agent_tasks (tenant_id, session_id, id);
create index agent_tasks_by_session on agent_tasks (session_id, created_at);

-- Both ends lie in one session.
create table task_dependencies (
    tenant_id blob not null,
    session_id blob not null,
    task_id blob not null,
    depends_on_id blob not null,
    primary key (task_id, depends_on_id),
    foreign key (tenant_id, session_id, task_id)
        references agent_tasks (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, session_id, depends_on_id)
        references agent_tasks (tenant_id, session_id, id) on delete cascade,
    constraint task_dependencies_not_on_itself check (task_id <> depends_on_id)
) strict;
create index task_dependencies_by_depends_on on task_dependencies (depends_on_id);

-- One row for each attempt. The row's own id is the fence: it is claimed once.
create table agent_runs (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    input_id blob not null,
    attempt integer not null,
    failures integer not null default 0,
    status text not null,
    origin text not null,
    priority integer not null,
    session_id blob,
    seat_id blob,
    automation_id blob,
    trigger_id blob,
    task_id blob,
    scheduled_for integer,
    missed_until integer,
    occurrences integer not null default 1,
    exclusive integer not null check (exclusive in (0, 1)),
    content text not null,
    not_before integer,
    instance_id blob,
    worker_id text,
    claimed_at integer,
    started_at integer,
    ended_at integer,
    cancel_requested_at integer,
    cancel_reason text,
    reason text,
    message text,
    stop_reason text,
    flags text not null default '{}' check (json_valid(flags)),
    usage text not null default '{}' check (json_valid(usage)),
    acp_session_id text,
    interrupted_run_id blob,
    prompt_ref text check (json_valid(prompt_ref)),
    input_at integer not null,
    created_at integer not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, session_id, seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    foreign key (tenant_id, trigger_id) references automation_triggers (tenant_id, id),
    foreign key (tenant_id, task_id) references agent_tasks (tenant_id, id) on delete cascade,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    foreign key (tenant_id, interrupted_run_id) references agent_runs (tenant_id, id)
        on delete cascade,
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
) strict;
create unique index agent_runs_of_tenant on agent_runs (tenant_id, id);
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
    id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    seq integer not null,
    run_id blob,
    from_seat_id blob,
    to_seat_id blob,
    role text not null,
    kind text not null,
    content text not null,
    metadata text not null check (json_valid(metadata)),
    created_at integer not null,
    delivered_at integer,
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
) strict;
create unique index agent_messages_of_tenant on agent_messages (tenant_id, id);
create unique index agent_messages_one_per_seq on agent_messages (session_id, seq);
create index agent_messages_by_run on agent_messages (run_id) where run_id is not null;
create index agent_messages_by_from_seat on agent_messages (from_seat_id)
    where from_seat_id is not null;
create index agent_messages_by_to_seat on agent_messages (to_seat_id, seq)
    where to_seat_id is not null;

-- A session's ordered log, numbered under the lock of the session's row.
create table session_events (
    session_id blob not null,
    seq integer not null,
    tenant_id blob not null,
    kind text not null,
    ref_id blob not null,
    body text not null check (json_valid(body)),
    created_at integer not null,
    primary key (session_id, seq),
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint session_events_kind_known
        check (kind in ('session', 'run', 'message', 'task', 'approval')),
    constraint session_events_seq_counted check (seq >= 1)
) strict;

-- Internal: what was really sent and what really went wrong. Never shown in a transcript.
create table run_records (
    run_id blob primary key,
    tenant_id blob not null,
    prompt_ref text check (json_valid(prompt_ref)),
    rendered_prompt text,
    variables text check (json_valid(variables)),
    diagnostics text check (json_valid(diagnostics)),
    error text,
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade
) strict;
create index run_records_by_age on run_records (created_at);

-- Narrow, so that a beat is a cheap update.
create table run_heartbeats (
    run_id blob primary key,
    tenant_id blob not null,
    worker_id text not null,
    beat_at integer not null,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade
) strict;

-- Text being written, removed when the turn ends. `position` counts from 0.
create table run_live (
    run_id blob not null,
    position integer not null,
    tenant_id blob not null,
    text text not null,
    written_at integer not null,
    primary key (run_id, position),
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint run_live_position_counted check (position >= 0)
) strict;

-- A permission request of one attempt that waits for a person until its deadline.
create table approvals (
    id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    run_id blob not null,
    tool_kind text not null,
    title text not null,
    request text not null check (json_valid(request)),
    state text not null,
    deadline_at integer not null,
    decided_at integer,
    decided_by text,
    created_at integer not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint approvals_state_known
        check (state in ('pending', 'allowed', 'denied', 'expired', 'void')),
    constraint approvals_decided_has_a_time
        check ((state = 'pending') = (decided_at is null)),
    constraint approvals_person_is_named
        check ((state in ('allowed', 'denied')) = (decided_by is not null))
) strict;
create unique index approvals_of_tenant on approvals (tenant_id, id);
create index approvals_by_run on approvals (run_id);
create index approvals_by_session on approvals (session_id);
create index approvals_pending on approvals (deadline_at) where state = 'pending';

create table agent_artifacts (
    id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    run_id blob,
    name text not null,
    uri text not null,
    media_type text not null,
    sha256 text not null,
    size_bytes integer not null,
    verified_at integer,
    created_at integer not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint agent_artifacts_size_counted check (size_bytes >= 0),
    constraint agent_artifacts_sha256_is_whole check (length(sha256) = 64)
) strict;
create unique index agent_artifacts_of_tenant on agent_artifacts (tenant_id, id);
create index agent_artifacts_by_session on agent_artifacts (session_id, created_at);
create index agent_artifacts_by_run on agent_artifacts (run_id) where run_id is not null;

create table agent_memory_entries (
    id blob primary key,
    tenant_id blob not null,
    automation_id blob not null,
    key text not null,
    value text not null,
    confidence real not null,
    expires_at integer,
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint agent_memory_entries_confidence_in_range check (confidence between 0 and 1)
) strict;
create unique index agent_memory_entries_of_tenant on agent_memory_entries (tenant_id, id);
create unique index agent_memory_entries_one_per_key on agent_memory_entries (automation_id, key);
create index agent_memory_entries_expiring on agent_memory_entries (expires_at)
    where expires_at is not null;

-- `sealed` is a Fernet token that holds tenant, id and version beside the secret.
create table agent_credentials (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    name text not null,
    kind text not null,
    version integer not null,
    sealed text not null,
    expires_at integer,
    created_at integer not null,
    updated_at integer not null,
    constraint agent_credentials_kind_known check (kind in ('api_key', 'oauth')),
    constraint agent_credentials_version_counted check (version >= 1)
) strict;
create unique index agent_credentials_of_tenant on agent_credentials (tenant_id, id);
create unique index agent_credentials_one_per_name on agent_credentials (tenant_id, name);

-- Only the hash of a token is kept. A runtime's token names its instance, a run's token its run.
create table api_tokens (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    role text not null,
    name text not null,
    hash blob not null,
    instance_id blob,
    run_id blob,
    created_at integer not null,
    expires_at integer,
    revoked_at integer,
    last_used_at integer,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint api_tokens_role_known
        check (role in ('admin', 'member', 'viewer', 'runtime', 'run')),
    constraint api_tokens_runtime_has_an_instance
        check ((role = 'runtime') = (instance_id is not null)),
    constraint api_tokens_run_is_named check ((role = 'run') = (run_id is not null))
) strict;
create unique index api_tokens_of_tenant on api_tokens (tenant_id, id);
create unique index api_tokens_one_per_hash on api_tokens (hash);
create index api_tokens_by_run on api_tokens (run_id) where run_id is not null;

-- The answer given to a request, so that the same request repeated gets it again.
create table idempotency_keys (
    tenant_id blob not null references tenants (id),
    key text not null,
    request_sha256 blob not null,
    status integer not null,
    response text not null check (json_valid(response)),
    created_at integer not null,
    primary key (tenant_id, key)
) strict;
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Ids of received webhooks, so that a replay changes nothing.
create table webhook_receipts (
    trigger_id blob not null,
    webhook_id text not null,
    tenant_id blob not null,
    received_at integer not null,
    primary key (trigger_id, webhook_id),
    foreign key (tenant_id, trigger_id) references automation_triggers (tenant_id, id)
) strict;
create index webhook_receipts_by_age on webhook_receipts (received_at);

-- Notifications on their way out, one for each event and endpoint.
create table webhook_deliveries (
    id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    seq integer not null,
    endpoint text not null,
    payload text not null check (json_valid(payload)),
    state text not null,
    attempts integer not null default 0,
    next_attempt_at integer,
    last_error text,
    ended_at integer,
    created_at integer not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint webhook_deliveries_state_known
        check (state in ('pending', 'delivered', 'failed')),
    constraint webhook_deliveries_pending_has_a_next
        check ((state = 'pending') = (next_attempt_at is not null)),
    constraint webhook_deliveries_over_has_an_end
        check ((state = 'pending') = (ended_at is null)),
    constraint webhook_deliveries_attempts_counted check (attempts >= 0)
) strict;
create unique index webhook_deliveries_of_tenant on webhook_deliveries (tenant_id, id);
create unique index webhook_deliveries_one_per_event
    on webhook_deliveries (session_id, seq, endpoint);
create index webhook_deliveries_due on webhook_deliveries (next_attempt_at)
    where state = 'pending';
