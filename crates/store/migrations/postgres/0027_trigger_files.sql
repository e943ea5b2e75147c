-- Trigger files: the delivery of runs into the folders of instances. The same as ../sqlite/0027_trigger_files.sql.
--
-- A run whose file waits in a folder is `delivered` by the worker `trigger-file`, and has no heartbeat, so that a
-- sleeping instance loses nothing. Earlier programs have no instances of this kind. They leave such runs alone, because
-- they claim only runs of their own instance.

create table trigger_files (
    run_id uuid primary key,
    tenant_id uuid not null,
    instance_id uuid not null,
    named_at timestamptz not null,
    attempt bigint not null,
    failures bigint not null,
    next_attempt_at timestamptz not null,
    writes bigint not null,
    written_at timestamptz,
    error text,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint trigger_files_attempts_counted check (attempt >= 1 and failures >= 0 and writes >= 0),
    constraint trigger_files_failure_has_an_error check ((failures > 0) = (error is not null))
);

create policy scope on trigger_files using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table trigger_files enable row level security;
alter table trigger_files force row level security;
