-- The token that made a token. The same as ../sqlite/0016_token_makers.sql.
--
-- Earlier programs do not know the column: the tokens that they make have no maker, as those made at the socket. If one
-- of them removes an expired browser that made tokens, these go with it. They have expired as well, because a token ends
-- with its maker at the latest.

alter table api_tokens
    add column made_by uuid,
    add foreign key (tenant_id, made_by) references api_tokens (tenant_id, id) on delete cascade,
    add constraint api_tokens_maker_is_another check (made_by <> id),
    add constraint api_tokens_browser_has_no_maker check (kind <> 'browser' or made_by is null);
create index api_tokens_by_maker on api_tokens (made_by) where made_by is not null;
