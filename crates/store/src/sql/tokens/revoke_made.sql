-- Revokes the tokens that a token made, directly or through others, and those of the browsers that any of them signed in.
-- $1 id, $2 now
with recursive made (id) as (
    select id from api_tokens where made_by = $1 or parent_id = $1
    union
    select t.id from made m join api_tokens t on t.made_by = m.id or t.parent_id = m.id
)
update api_tokens set revoked_at = $2
where id in (select id from made) and revoked_at is null
