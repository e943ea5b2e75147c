-- Goals: sessions in which several agents work on one result. The same as ../postgres/0031_goals.sql.
--
-- A goal is a session with a row in `goals`. Its tasks are the rows of `agent_tasks`, a table that no earlier program writes,
-- so that it is empty. `revision` counts the moves of a goal, so that no move overwrites another one. `progress` holds the counters on which the next move depends; the other columns hold the facts that
-- people, tools and constraints read. `needs_format` of the seats keeps earlier programs from the runs of tasks.

create table goals (
    session_id blob primary key,
    tenant_id blob not null,
    text text not null,
    state text not null,
    reason text,
    cause text,
    revision integer not null default 0,
    plan_version integer not null default 0,
    team text not null check (json_valid(team)),
    limits text not null check (json_valid(limits)),
    progress text not null check (json_valid(progress)),
    format integer not null,
    needs_format integer not null,
    check_at integer,
    check_for text,
    budget text check (json_valid(budget)),
    until_at integer,
    created_at integer not null,
    updated_at integer not null,
    ended_at integer,
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
) strict;
create index goals_by_state on goals (tenant_id, state, session_id);
create index goals_due on goals (check_at) where check_at is not null;

drop table agent_tasks;
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
    number integer not null,
    key text not null,
    kind text not null,
    plan_version integer not null,
    unmet integer not null,
    priority integer not null,
    optional integer not null check (optional in (0, 1)),
    review integer not null check (review in (0, 1)),
    step text,
    seat_id blob,
    reason text,
    acceptance text not null check (json_valid(acceptance)),
    checks text not null check (json_valid(checks)),
    writes text not null check (json_valid(writes)),
    digest blob not null,
    attempts integer not null,
    rounds integer not null,
    progress text not null check (json_valid(progress)),
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, session_id, seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    constraint agent_tasks_status_known
        check (status in ('PENDING', 'READY', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED')),
    constraint agent_tasks_running_has_a_start
        check (status <> 'RUNNING' or started_at is not null),
    constraint agent_tasks_over_has_an_end
        check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (ended_at is not null)),
    constraint agent_tasks_kind_known check (kind in ('plan', 'work', 'check', 'report')),
    constraint agent_tasks_step_known
        check (step is null or step in ('work', 'checks', 'review', 'question')),
    constraint agent_tasks_running_has_a_step check ((status = 'RUNNING') = (step is not null)),
    constraint agent_tasks_turn_has_a_seat
        check (step is null or step not in ('work', 'question') or seat_id is not null),
    constraint agent_tasks_pending_has_unmet check ((status = 'PENDING') = (unmet > 0)),
    constraint agent_tasks_over_has_a_reason
        check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (reason is not null)),
    constraint agent_tasks_counted check (
        number >= 0 and plan_version >= 0 and unmet >= 0 and attempts >= 0 and rounds >= 0
        and priority between 0 and 9)
) strict;
create unique index agent_tasks_of_tenant on agent_tasks (tenant_id, id);
create unique index agent_tasks_of_session on agent_tasks (tenant_id, session_id, id);
create unique index agent_tasks_one_per_number on agent_tasks (session_id, number);
create unique index agent_tasks_one_per_key on agent_tasks (session_id, key);
create unique index agent_tasks_one_open_plan on agent_tasks (session_id)
    where kind = 'plan' and status in ('PENDING', 'READY', 'RUNNING');
create index agent_tasks_by_seat on agent_tasks (seat_id) where seat_id is not null;

-- A task that a planner has staged, or one that it wants to cancel. The end of its successful turn publishes all of them.
create table staged_tasks (
    session_id blob not null,
    key text not null,
    tenant_id blob not null,
    number integer not null,
    kind text not null,
    task text not null check (json_valid(task)),
    format integer not null,
    needs_format integer not null,
    created_at integer not null,
    updated_at integer not null,
    primary key (session_id, key),
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint staged_tasks_kind_known check (kind in ('create', 'cancel')),
    constraint staged_tasks_format check (needs_format between 1 and format)
) strict;
create index staged_tasks_by_tenant on staged_tasks (tenant_id, session_id);

-- The result or the verdict that an agent reports in its turn. It counts once the turn ends with success. All attempts at
-- the input of the turn share it.
create table task_reports (
    input_id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    task_id blob not null,
    run_id blob not null,
    kind text not null,
    status text not null,
    body text not null check (json_valid(body)),
    format integer not null,
    needs_format integer not null,
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, session_id, task_id)
        references agent_tasks (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint task_reports_status_of_kind check (
        (kind = 'result' and status in ('done', 'failed'))
        or (kind = 'verdict' and status in ('accept', 'send_back'))),
    constraint task_reports_format check (needs_format between 1 and format)
) strict;
create index task_reports_by_task on task_reports (task_id, updated_at);
create index task_reports_by_run on task_reports (run_id);

-- The prompt of a task's turn, which its attempts share.
alter table agent_runs add column task_prompt text
    constraint agent_runs_prompt_is_of_task check (task_prompt is null or task_id is not null);
