-- The memories of tasks, and the facts on which the end of a task's turn depends. The same as ../sqlite/0032_task_memories.sql.
--
-- A seat whose memory is that of the task has no memory of its own. Each task has one memory for the work on a seat, and
-- one for the reviews on a seat. `needs_format` of the seats keeps earlier programs from the runs of tasks.

create table task_memories (
    task_id uuid not null,
    seat_id uuid not null,
    review boolean not null,
    tenant_id uuid not null,
    session_id uuid not null,
    instance_id uuid,
    acp_session_id text,
    turns bigint not null default 0,
    usage jsonb,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (task_id, seat_id, review),
    foreign key (tenant_id, session_id, task_id)
        references agent_tasks (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, session_id, seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    constraint task_memories_turns_counted check (turns >= 0),
    constraint task_memories_is_on_an_instance
        check (acp_session_id is null or instance_id is not null)
);
create index task_memories_by_seat on task_memories (seat_id);
create index task_memories_by_instance on task_memories (tenant_id, instance_id) where instance_id is not null;

-- `until_passed`: the goal has moved since the end of its time.
alter table goals add column until_passed boolean not null default false;
create index goals_by_until on goals (until_at) where state = 'active';

-- `task_review`: the turn judges the task. `listed_tools`: the agent has listed the tools of Matins.
alter table agent_runs
    add column task_review boolean not null default false
        constraint agent_runs_review_is_of_task check (not task_review or task_id is not null),
    add column listed_tools boolean not null default false;

create policy scope on task_memories using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table task_memories enable row level security;
alter table task_memories force row level security;
