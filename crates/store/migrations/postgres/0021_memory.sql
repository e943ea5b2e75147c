-- Memory entries of automations and of sessions. The same as ../sqlite/0021_memory.sql.
--
-- No program has written the table before. The run is history, so that it refers to no row: an automation's entry outlives
-- the session of the run.

drop table agent_memory_entries;
create table agent_memory_entries (
    id uuid primary key,
    tenant_id uuid not null,
    automation_id uuid,
    session_id uuid,
    key text not null,
    value text not null,
    size_bytes bigint not null,
    confidence double precision not null,
    version bigint not null,
    author text not null,
    run_id uuid,
    expires_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id) on delete cascade,
    constraint agent_memory_entries_have_one_owner check ((automation_id is null) <> (session_id is null)),
    constraint agent_memory_entries_confidence_in_range check (confidence between 0 and 1),
    constraint agent_memory_entries_size_counted check (size_bytes >= 0),
    constraint agent_memory_entries_version_counted check (version >= 1)
);
create unique index agent_memory_entries_one_per_key_of_automation on agent_memory_entries (automation_id, key)
    where automation_id is not null;
create unique index agent_memory_entries_one_per_key_of_session on agent_memory_entries (session_id, key)
    where session_id is not null;
create index agent_memory_entries_expiring on agent_memory_entries (expires_at)
    where expires_at is not null;

create policy scope on agent_memory_entries using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table agent_memory_entries enable row level security;
alter table agent_memory_entries force row level security;
