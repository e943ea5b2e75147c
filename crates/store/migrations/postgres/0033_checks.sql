-- The checks of tasks that Matins runs itself, and the presence of seats. The same as ../sqlite/0033_checks.sql.
--
-- The checks of a task have one row, which the next round overwrites. `attempt` counts its claims and is the fence of their
-- workers. The process that serves `instance_id`, where the agent of `seat_id` did the work, claims the row with a lease.
-- `evidence` has the last lines of each check that ran. Earlier programs write no such rows: a task whose checks they start
-- waits for a person.
--
-- `presence` of a seat is the one that its goal knows. The scheduler compares it with the state of the instance.

create table task_checks (
    task_id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    seat_id uuid not null,
    instance_id uuid not null,
    status text not null,
    attempt bigint not null,
    worker_id text,
    lease_until timestamptz,
    cancel_requested_at timestamptz,
    evidence jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    ended_at timestamptz,
    foreign key (tenant_id, session_id, task_id)
        references agent_tasks (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, session_id, seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    constraint task_checks_status_known
        check (status in ('waiting', 'running', 'passed', 'failed', 'broken', 'cancelled')),
    constraint task_checks_running_has_a_worker
        check ((status = 'running') = (worker_id is not null)),
    constraint task_checks_worker_has_a_lease check ((worker_id is null) = (lease_until is null)),
    constraint task_checks_over_has_an_end
        check ((status in ('passed', 'failed', 'broken', 'cancelled')) = (ended_at is not null)),
    constraint task_checks_attempts_counted check (attempt >= 0)
);
create index task_checks_open on task_checks (instance_id, created_at)
    where status in ('waiting', 'running');
create index task_checks_by_session on task_checks (session_id);
create index task_checks_by_seat on task_checks (seat_id);

create index goals_open on goals (session_id) where state in ('active', 'paused');
alter table agent_definitions add column presence text not null default 'online'
    constraint agent_definitions_presence_known check (presence in ('online', 'offline', 'removed'));

create policy scope on task_checks using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table task_checks enable row level security;
alter table task_checks force row level security;
