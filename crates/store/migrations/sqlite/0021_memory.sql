-- Memory entries of automations and of sessions. The same as ../postgres/0021_memory.sql.
--
-- No program has written the table before. The run is history, so that it refers to no row: an automation's entry outlives
-- the session of the run.

drop table agent_memory_entries;
create table agent_memory_entries (
    id blob primary key,
    tenant_id blob not null,
    automation_id blob,
    session_id blob,
    key text not null,
    value text not null,
    size_bytes integer not null,
    confidence real not null,
    version integer not null,
    author text not null,
    run_id blob,
    expires_at integer,
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id) on delete cascade,
    constraint agent_memory_entries_have_one_owner check ((automation_id is null) <> (session_id is null)),
    constraint agent_memory_entries_confidence_in_range check (confidence between 0 and 1),
    constraint agent_memory_entries_size_counted check (size_bytes >= 0),
    constraint agent_memory_entries_version_counted check (version >= 1)
) strict;
create unique index agent_memory_entries_one_per_key_of_automation on agent_memory_entries (automation_id, key)
    where automation_id is not null;
create unique index agent_memory_entries_one_per_key_of_session on agent_memory_entries (session_id, key)
    where session_id is not null;
create index agent_memory_entries_expiring on agent_memory_entries (expires_at)
    where expires_at is not null;
