-- The token that made a token. The same as ../postgres/0016_token_makers.sql.
--
-- Earlier programs do not know the column: the tokens that they make have no maker, as those made at the socket. If one
-- of them removes an expired browser that made tokens, these go with it. They have expired as well, because a token ends
-- with its maker at the latest.

-- A key on several columns is part of its table, so the table is made anew. Dropping a table deletes its rows first, and
-- the rows that refer to them, so the links are made anew as well.
create table api_tokens_with_makers (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    kind text not null,
    role text not null,
    name text not null,
    hash blob not null,
    shown text not null,
    scopes text check (json_valid(scopes)),
    parent_id blob,
    made_by blob,
    instance_id blob,
    run_id blob,
    created_at integer not null,
    expires_at integer,
    revoked_at integer,
    last_used_at integer,
    foreign key (tenant_id, instance_id) references instances (tenant_id, id),
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    foreign key (tenant_id, parent_id) references api_tokens_with_makers (tenant_id, id) on delete cascade,
    foreign key (tenant_id, made_by) references api_tokens_with_makers (tenant_id, id) on delete cascade,
    constraint api_tokens_role_known
        check (role in ('admin', 'member', 'viewer', 'runtime', 'run')),
    constraint api_tokens_runtime_has_an_instance
        check ((role = 'runtime') = (instance_id is not null)),
    constraint api_tokens_run_is_named check ((role = 'run') = (run_id is not null)),
    constraint api_tokens_kind_known check (kind in ('token', 'browser')),
    constraint api_tokens_browser_has_a_parent
        check ((kind = 'browser') = (parent_id is not null)),
    constraint api_tokens_browser_has_an_end
        check (kind <> 'browser' or expires_at is not null),
    constraint api_tokens_maker_is_another check (made_by <> id),
    constraint api_tokens_browser_has_no_maker
        check (kind <> 'browser' or made_by is null)
) strict;
create unique index api_tokens_with_makers_of_tenant on api_tokens_with_makers (tenant_id, id);
insert into api_tokens_with_makers
    (id, tenant_id, kind, role, name, hash, shown, scopes, parent_id, instance_id, run_id, created_at, expires_at,
     revoked_at, last_used_at)
select id, tenant_id, kind, role, name, hash, shown, scopes, parent_id, instance_id, run_id, created_at, expires_at,
    revoked_at, last_used_at
from api_tokens;
create table sign_in_links_of_makers (
    hash blob primary key,
    tenant_id blob not null,
    token_id blob not null,
    created_at integer not null,
    expires_at integer not null,
    used_at integer,
    foreign key (tenant_id, token_id) references api_tokens_with_makers (tenant_id, id) on delete cascade
) strict;
insert into sign_in_links_of_makers (hash, tenant_id, token_id, created_at, expires_at, used_at)
select hash, tenant_id, token_id, created_at, expires_at, used_at
from sign_in_links;
drop table sign_in_links;
drop table api_tokens;
alter table api_tokens_with_makers rename to api_tokens;
alter table sign_in_links_of_makers rename to sign_in_links;
create unique index api_tokens_of_tenant on api_tokens (tenant_id, id);
drop index api_tokens_with_makers_of_tenant;
create unique index api_tokens_one_per_hash on api_tokens (hash);
create index api_tokens_by_run on api_tokens (run_id) where run_id is not null;
create index api_tokens_by_parent on api_tokens (parent_id) where parent_id is not null;
create index api_tokens_by_maker on api_tokens (made_by) where made_by is not null;
create index api_tokens_of_browsers on api_tokens (expires_at) where kind = 'browser';
create index sign_in_links_by_token on sign_in_links (token_id);
create index sign_in_links_by_end on sign_in_links (expires_at);
