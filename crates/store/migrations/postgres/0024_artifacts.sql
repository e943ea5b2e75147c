-- The files and addresses that agents hand in by their tools. The same as ../sqlite/0024_artifacts.sql.

drop table agent_artifacts;

create table agent_artifacts (
    id uuid primary key,
    tenant_id uuid not null,
    session_id uuid not null,
    run_id uuid not null,
    name text not null,
    version bigint not null,
    media_type text not null,
    uri text,
    sha256 text,
    size_bytes bigint,
    instance_id uuid,
    created_at timestamptz not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    constraint agent_artifacts_version_counted check (version >= 1),
    constraint agent_artifacts_size_counted check (size_bytes >= 0),
    constraint agent_artifacts_sha256_is_whole check (length(sha256) = 64),
    constraint agent_artifacts_content_or_uri check (
        (sha256 is null) = (uri is not null)
        and (size_bytes is null) = (sha256 is null)
        and (instance_id is null) = (sha256 is null)
    )
);
create unique index agent_artifacts_of_tenant on agent_artifacts (tenant_id, id);
create unique index agent_artifacts_one_per_version on agent_artifacts (session_id, name, version);
create index agent_artifacts_by_session on agent_artifacts (session_id, id);
create index agent_artifacts_by_run on agent_artifacts (run_id);
create index agent_artifacts_by_content on agent_artifacts (tenant_id, sha256, size_bytes)
    where sha256 is not null;

create policy scope on agent_artifacts using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid));
alter table agent_artifacts enable row level security;
alter table agent_artifacts force row level security;
