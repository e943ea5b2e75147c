-- Several servers over one database: who serves which data folder, and work that is shared fairly between
-- tenants. The same as ../postgres/0009_fleet.sql; there is nobody else to wake here.

-- Which server serves a data folder now. Not a tenant's: one folder serves all of them.
create table servers (
    instance_id blob primary key,
    worker_id text not null,
    version text not null,
    schema_version integer not null,
    started_at integer not null,
    seen_at integer not null,
    stopped_at integer
) strict;

-- What waits for an instance that is away is passed over without being read.
drop index agent_runs_claimable;
create index agent_runs_claimable on agent_runs (tenant_id, instance_id, priority, input_at, id)
    where status = 'queued';

-- A tenant of whom much is due does not hold up the others.
create index automation_triggers_due_of_tenant on automation_triggers (tenant_id, next_fire_at, id)
    where next_fire_at is not null;

create index instances_gone on instances (tenant_id, id) where state = 'gone';
