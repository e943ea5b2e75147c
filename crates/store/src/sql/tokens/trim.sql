-- Removes browser tokens that expired before an instant. One that made tokens stays, as these do, so that their maker is
-- known.
-- $1 oldest end that stays, $2 limit
delete from api_tokens where id in (
    select id from api_tokens
    where kind = 'browser' and expires_at < $1
      and not exists (select 1 from api_tokens m where m.made_by = api_tokens.id)
    order by expires_at
    limit $2
)
