-- Trigger files: the delivery of runs into the folders of instances. The same as ../postgres/0027_trigger_files.sql.
--
-- A run whose file waits in a folder is `delivered` by the worker `trigger-file`, and has no heartbeat, so that a
-- sleeping instance loses nothing. Earlier programs have no instances of this kind. They leave such runs alone, because
-- they claim only runs of their own instance.

create table trigger_files (
    run_id blob primary key,
    tenant_id blob not null,
    instance_id blob not null,
    named_at integer not null,
    attempt integer not null,
    failures integer not null,
    next_attempt_at integer not null,
    writes integer not null,
    written_at integer,
    error text,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    constraint trigger_files_attempts_counted check (attempt >= 1 and failures >= 0 and writes >= 0),
    constraint trigger_files_failure_has_an_error check ((failures > 0) = (error is not null))
) strict;
