-- Removes browser tokens that expired before an instant.
-- $1 oldest end that stays, $2 limit
delete from api_tokens where id in (
    select id from api_tokens
    where kind = 'browser' and expires_at < $1
    order by expires_at
    limit $2
)
