-- Goals: sessions in which several agents work on one result. The same as ../sqlite/0031_goals.sql.
--
-- A goal is a session with a row in `goals`. Its tasks are the rows of `agent_tasks`, a table that no earlier program writes,
-- so that it is empty. `revision` counts the moves of a goal, so that no move overwrites another one. `progress` holds the counters on which the next move depends; the other columns hold the facts that
-- people, tools and constraints read. `needs_format` of the seats keeps earlier programs from the runs of tasks.

create table goals (
    session_id uuid primary key,
    tenant_id uuid not null,
    text text not null,
    state text not null,
    reason text,
    cause text,
    revision bigint not null default 0,
    plan_version bigint not null default 0,
    team jsonb not null,
    limits jsonb not null,
    progress jsonb not null,
    format bigint not null,
    needs_format bigint not null,
    check_at timestamptz,
    check_for text,
    budget jsonb,
    until_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    ended_at timestamptz,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint goals_state_known check (state in ('draft', 'active', 'paused', 'done', 'failed')),
    constraint goals_pause_or_failure_has_a_reason
        check ((state in ('paused', 'failed')) = (reason is not null)),
    constraint goals_stuck_has_a_cause
        check ((state = 'paused' and reason = 'stuck') = (cause is not null)),
    constraint goals_over_has_an_end check ((state in ('done', 'failed')) = (ended_at is not null)),
    constraint goals_plans_counted check (plan_version >= 0),
    constraint goals_format check (needs_format between 1 and format),
    constraint goals_check_has_a_deadline check ((check_at is null) = (check_for is null))
);
create index goals_by_state on goals (tenant_id, state, session_id);
create index goals_due on goals (check_at) where check_at is not null;

alter table agent_tasks
    add column number bigint not null,
    add column key text not null,
    add column kind text not null,
    add column plan_version bigint not null,
    add column unmet bigint not null,
    add column priority bigint not null,
    add column optional boolean not null,
    add column review boolean not null,
    add column step text,
    add column seat_id uuid,
    add column reason text,
    add column acceptance jsonb not null,
    add column checks jsonb not null,
    add column writes jsonb not null,
    add column digest bytea not null,
    add column attempts bigint not null,
    add column rounds bigint not null,
    add column progress jsonb not null;
alter table agent_tasks
    add foreign key (tenant_id, session_id, seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    add constraint agent_tasks_kind_known check (kind in ('plan', 'work', 'check', 'report')),
    add constraint agent_tasks_step_known
        check (step is null or step in ('work', 'checks', 'review', 'question')),
    add constraint agent_tasks_running_has_a_step check ((status = 'RUNNING') = (step is not null)),
    add constraint agent_tasks_turn_has_a_seat
        check (step is null or step not in ('work', 'question') or seat_id is not null),
    add constraint agent_tasks_pending_has_unmet check ((status = 'PENDING') = (unmet > 0)),
    add constraint agent_tasks_over_has_a_reason
        check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (reason is not null)),
    add constraint agent_tasks_counted check (
        number >= 0 and plan_version >= 0 and unmet >= 0 and attempts >= 0 and rounds >= 0
        and priority between 0 and 9);
drop index agent_tasks_by_session;
create unique index agent_tasks_one_per_number on agent_tasks (session_id, number);
create unique index agent_tasks_one_per_key on agent_tasks (session_id, key);
create unique index agent_tasks_one_open_plan on agent_tasks (session_id)
    where kind = 'plan' and status in ('PENDING', 'READY', 'RUNNING');
create index agent_tasks_by_seat on agent_tasks (seat_id) where seat_id is not null;

-- A task that a planner has staged, or one that it wants to cancel. The end of its successful turn publishes all of them.
create table staged_tasks (
    session_id uuid not null,
    key text not null,
    tenant_id uuid not null,
    number bigint not null,
    kind text not null,
    task jsonb not null,
    format bigint not null,
    needs_format bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (session_id, key),
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint staged_tasks_kind_known check (kind in ('create', 'cancel')),
    constraint staged_tasks_format check (needs_format between 1 and format)
);
create index staged_tasks_by_tenant on staged_tasks (tenant_id, session_id);

-- The result or the verdict that an agent reports in its turn. It counts once the turn ends with success. All attempts at
-- the input of the turn share it.
create table task_reports (
    input_id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    task_id uuid not null,
    run_id uuid not null,
    kind text not null,
    status text not null,
    body jsonb not null,
    format bigint not null,
    needs_format bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    foreign key (tenant_id, session_id, task_id)
        references agent_tasks (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint task_reports_status_of_kind check (
        (kind = 'result' and status in ('done', 'failed'))
        or (kind = 'verdict' and status in ('accept', 'send_back'))),
    constraint task_reports_format check (needs_format between 1 and format)
);
create index task_reports_by_task on task_reports (task_id, updated_at);
create index task_reports_by_run on task_reports (run_id);

-- The prompt of a task's turn, which its attempts share.
alter table agent_runs add column task_prompt text
    constraint agent_runs_prompt_is_of_task check (task_prompt is null or task_id is not null);

create policy scope on goals using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table goals enable row level security;
alter table goals force row level security;

create policy scope on staged_tasks using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table staged_tasks enable row level security;
alter table staged_tasks force row level security;

create policy scope on task_reports using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table task_reports enable row level security;
alter table task_reports force row level security;
