-- Removes tokens of browsers that ended long ago.
-- $1 oldest end that stays, $2 limit
delete from api_tokens where id in (
    select id from api_tokens
    where kind = 'browser' and expires_at < $1
    order by expires_at
    limit $2
)
