-- What a server of requests needs: tokens that people make and browsers hold, links that sign in once,
-- answers to requests that are repeated, and lists that are read page by page. The same as
-- ../postgres/0004_api.sql.

-- A browser's token belongs to the one that signed it in, and has an end. A check on several columns is
-- part of its table, so the table is made anew.
create table api_tokens_with_kinds (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    kind text not null,
    role text not null,
    name text not null,
    hash blob not null,
    shown text not null,
    scopes text check (json_valid(scopes)),
    parent_id blob,
    instance_id blob,
    run_id blob,
    created_at integer not null,
    expires_at integer,
    revoked_at integer,
    last_used_at integer,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    foreign key (tenant_id, parent_id) references api_tokens (tenant_id, id) on delete cascade,
    constraint api_tokens_role_known
        check (role in ('admin', 'member', 'viewer', 'runtime', 'run')),
    constraint api_tokens_runtime_has_an_instance
        check ((role = 'runtime') = (instance_id is not null)),
    constraint api_tokens_run_is_named check ((role = 'run') = (run_id is not null)),
    constraint api_tokens_kind_known check (kind in ('token', 'browser')),
    constraint api_tokens_browser_has_a_parent
        check ((kind = 'browser') = (parent_id is not null)),
    constraint api_tokens_browser_has_an_end
        check (kind <> 'browser' or expires_at is not null)
) strict;
insert into api_tokens_with_kinds
    (id, tenant_id, kind, role, name, hash, shown, instance_id, run_id, created_at, expires_at,
     revoked_at, last_used_at)
select id, tenant_id, 'token', role, name, hash, '', instance_id, run_id, created_at, expires_at,
    revoked_at, last_used_at
from api_tokens;
drop table api_tokens;
alter table api_tokens_with_kinds rename to api_tokens;
create unique index api_tokens_of_tenant on api_tokens (tenant_id, id);
create unique index api_tokens_one_per_hash on api_tokens (hash);
create index api_tokens_by_run on api_tokens (run_id) where run_id is not null;
create index api_tokens_by_parent on api_tokens (parent_id) where parent_id is not null;
create index api_tokens_of_browsers on api_tokens (expires_at) where kind = 'browser';

-- Each signs one browser in, once. Only its hash is kept.
create table sign_in_links (
    hash blob primary key,
    tenant_id blob not null,
    token_id blob not null,
    created_at integer not null,
    expires_at integer not null,
    used_at integer,
    foreign key (tenant_id, token_id) references api_tokens (tenant_id, id) on delete cascade
) strict;
create index sign_in_links_by_token on sign_in_links (token_id);
create index sign_in_links_by_end on sign_in_links (expires_at);

-- A key reserves the id of what its request makes, before that is made; the answer comes after it.
-- Nothing has claimed a key yet.
drop table idempotency_keys;
create table idempotency_keys (
    tenant_id blob not null references tenants (id),
    key text not null,
    request_sha256 blob not null,
    created_id blob not null,
    status integer,
    response text check (json_valid(response)),
    created_at integer not null,
    primary key (tenant_id, key),
    constraint idempotency_keys_answer_is_whole
        check ((status is null) = (response is null))
) strict;
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Lists go from the newest to the oldest by id, which begins with the time.
drop index agent_sessions_by_age;
create index agent_sessions_by_type on agent_sessions (tenant_id, type, id);
drop index agent_sessions_by_schedule;
create index agent_sessions_by_schedule on agent_sessions (schedule_id, id)
    where schedule_id is not null;
drop index automation_triggers_by_automation;
create index automation_triggers_by_automation on automation_triggers (automation_id, id);
drop index agent_runs_by_automation;
create index agent_runs_by_automation on agent_runs (automation_id, id)
    where automation_id is not null;
drop index agent_runs_by_session;
create index agent_runs_by_session on agent_runs (session_id, id);

-- Whoever looks for what went wrong reads none of what went well, which costs nothing here.
create index agent_runs_without_success on agent_runs (tenant_id, status, id)
    where status in ('failed', 'cancelled', 'stalled', 'skipped', 'missed');
