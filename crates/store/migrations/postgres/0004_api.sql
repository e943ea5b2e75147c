-- What a server of requests needs: tokens that people make and browsers hold, links that sign in once,
-- answers to requests that are repeated, and lists that are read page by page. The same as
-- ../sqlite/0004_api.sql.

-- Nothing has made a token yet. A browser's token belongs to the one that signed it in, and has an end.
alter table api_tokens
    add column kind text not null default 'token',
    add column scopes jsonb,
    add column shown text not null default '',
    add column parent_id uuid,
    add foreign key (tenant_id, parent_id) references api_tokens (tenant_id, id) on delete cascade,
    add constraint api_tokens_kind_known check (kind in ('token', 'browser')),
    add constraint api_tokens_browser_has_a_parent
        check ((kind = 'browser') = (parent_id is not null)),
    add constraint api_tokens_browser_has_an_end
        check (kind <> 'browser' or expires_at is not null);
alter table api_tokens alter column kind drop default, alter column shown drop default;
create index api_tokens_by_parent on api_tokens (parent_id) where parent_id is not null;
create index api_tokens_of_browsers on api_tokens (expires_at) where kind = 'browser';

-- Each signs one browser in, once. Only its hash is kept.
create table sign_in_links (
    hash bytea primary key,
    tenant_id uuid not null,
    token_id uuid not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz,
    foreign key (tenant_id, token_id) references api_tokens (tenant_id, id) on delete cascade
);
create index sign_in_links_by_token on sign_in_links (token_id);
create index sign_in_links_by_end on sign_in_links (expires_at);
create policy scope on sign_in_links using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid)
);
alter table sign_in_links enable row level security;
alter table sign_in_links force row level security;

-- A key reserves the id of what its request makes, before that is made; the answer comes after it.
-- Nothing has claimed a key yet.
delete from idempotency_keys;
alter table idempotency_keys
    add column created_id uuid not null,
    alter column status drop not null,
    alter column response drop not null,
    add constraint idempotency_keys_answer_is_whole
        check ((status is null) = (response is null));

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
