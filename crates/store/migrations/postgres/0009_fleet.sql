-- Several servers over one database: who serves which data folder, which versions of the program may go on
-- with this schema, work that is shared fairly between tenants, and wake-ups for what another server has
-- to do. The same as ../sqlite/0009_fleet.sql.

-- Which server serves a data folder now. Not a tenant's: one folder serves all of them.
create table servers (
    instance_id uuid primary key,
    worker_id text not null,
    version text not null,
    schema_version bigint not null,
    started_at timestamptz not null,
    seen_at timestamptz not null,
    stopped_at timestamptz
) with (fillfactor = 50);

-- The earliest version of the schema whose programs may go on with this one.
alter table schema_versions add column works_with bigint;
update schema_versions set works_with = version;
alter table schema_versions alter column works_with set not null;

-- What waits for an instance that is away is passed over without being read.
drop index agent_runs_claimable;
create index agent_runs_claimable on agent_runs (tenant_id, instance_id, priority, input_at, id)
    where status = 'queued';

-- A tenant of whom much is due does not hold up the others.
create index automation_triggers_due_of_tenant on automation_triggers (tenant_id, next_fire_at, id)
    where next_fire_at is not null;

create index instances_gone on instances (tenant_id, id) where state = 'gone';

-- Wakes those who work, whichever server made the work. What is told twice in one transaction is sent once.
create function wake_workers() returns trigger
language plpgsql
set search_path = automation, pg_temp
as $$
begin
    perform pg_notify('matins_wake', tg_argv[0]);
    return null;
end
$$;

create trigger agent_runs_wake_queue_made
    after insert on agent_runs
    for each row when (new.status = 'queued')
    execute function wake_workers('queue');

create trigger agent_runs_wake_queue
    after update of status on agent_runs
    for each row when (new.status = 'queued' and old.status <> 'queued')
    execute function wake_workers('queue');

create trigger agent_runs_wake_cancel
    after update of cancel_requested_at on agent_runs
    for each row when (new.cancel_requested_at is not null and old.cancel_requested_at is null)
    execute function wake_workers('cancel');

create trigger automation_triggers_wake_made
    after insert on automation_triggers
    for each row when (new.next_fire_at is not null)
    execute function wake_workers('schedule');

-- One that is fired moves to later, which wakes nobody.
create trigger automation_triggers_wake
    after update of next_fire_at on automation_triggers
    for each row when (new.next_fire_at < coalesce(old.next_fire_at, 'infinity'))
    execute function wake_workers('schedule');

-- Servers are every tenant's to see, and none's to change.
create policy scope on servers using ((select current_setting('matins.scope', true)) = 'system');
create policy seen on servers for select
    using ((select nullif(current_setting('matins.tenant', true), '')) is not null);
alter table servers enable row level security;
alter table servers force row level security;
