-- Counts the valid tokens of programs that a token made, directly or through tokens and browsers.
-- $1 id, $2 now
with recursive made (id) as (
    select id from api_tokens where made_by = $1 or parent_id = $1
    union
    select t.id from made m join api_tokens t on t.made_by = m.id or t.parent_id = m.id
)
select count(*) as valid
from api_tokens
where id in (select id from made) and kind = 'token'
  and revoked_at is null and (expires_at is null or expires_at > $2)
