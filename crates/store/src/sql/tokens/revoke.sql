-- Revokes a token and the tokens of the browsers that it signed in.
-- $1 id, $2 now
update api_tokens set revoked_at = $2
where (id = $1 or parent_id = $1) and revoked_at is null
