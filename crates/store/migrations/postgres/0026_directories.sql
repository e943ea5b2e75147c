-- Directories of sessions on several servers. The same as ../sqlite/0026_directories.sql.
--
-- Sessions with a folder of their own no longer store its path. Earlier programs stored the path in the data folder of
-- the process that created the session, so that another server with a data folder of its own did not find it. The
-- empty text stands for the own folder, and each server resolves it in its own data folder. An earlier program takes
-- the empty text for a path that does not exist. The format of the seats therefore keeps it from claiming their runs.
-- Such a program still stores paths in new sessions, so the readers of the column recognise both forms.

update agent_sessions set cwd = '' where right(cwd, 37) = '/ses_' || replace(id::text, '-', '');
update agent_definitions set format = greatest(format, 5), needs_format = greatest(needs_format, 5)
where session_id in (select id from agent_sessions where cwd = '');

-- A server that does not have the directory of a queued run refuses the run, and claims it no more. The instance is no
-- reference, because a server may refuse a run before it has taken a turn of the tenant.
create table directory_refusals (
    run_id uuid not null,
    instance_id uuid not null,
    tenant_id uuid not null,
    refused_at timestamptz not null,
    primary key (run_id, instance_id),
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade
);
create index directory_refusals_by_instance on directory_refusals (instance_id, run_id);

create policy scope on directory_refusals using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table directory_refusals enable row level security;
alter table directory_refusals force row level security;
