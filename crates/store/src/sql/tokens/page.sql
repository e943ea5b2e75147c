-- Lists a tenant's tokens, the newest first.
-- $1 tenant, $2 the id before which to begin, $3 limit
select id, tenant_id, kind, role, name, instance_id, shown, scopes, parent_id, made_by, created_at, expires_at,
    revoked_at, last_used_at
from api_tokens
where tenant_id = $1 and id < $2
order by id desc
limit $3
