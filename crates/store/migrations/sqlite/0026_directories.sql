-- Directories of sessions on several servers. The same as ../postgres/0026_directories.sql.
--
-- Sessions with a folder of their own no longer store its path. Earlier programs stored the path in the data folder of
-- the process that created the session, so that another server with a data folder of its own did not find it. The
-- empty text stands for the own folder, and each server resolves it in its own data folder. An earlier program takes
-- the empty text for a path that does not exist. The format of the seats therefore keeps it from claiming their runs.
-- Such a program still stores paths in new sessions, so the readers of the column recognise both forms.

update agent_sessions set cwd = '' where substr(cwd, -37) = '/ses_' || lower(hex(id));
update agent_definitions set format = max(format, 5), needs_format = max(needs_format, 5)
where session_id in (select id from agent_sessions where cwd = '');

-- A server that does not have the directory of a queued run refuses the run, and claims it no more. The instance is no
-- reference, because a server may refuse a run before it has taken a turn of the tenant.
create table directory_refusals (
    run_id blob not null,
    instance_id blob not null,
    tenant_id blob not null,
    refused_at integer not null,
    primary key (run_id, instance_id),
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade
) strict;
create index directory_refusals_by_instance on directory_refusals (instance_id, run_id);
