-- Returns one token.
-- $1 tenant or null, $2 id
select id, tenant_id, kind, role, name, instance_id, shown, scopes, parent_id, made_by, created_at, expires_at,
    revoked_at, last_used_at
from api_tokens
where id = $2 and ($1 is null or tenant_id = $1)
