-- Returns the token with the hash of a secret. No row: the token, or the token that signed its browser in, is revoked
-- or expired.
-- $1 hash, $2 now
select id, tenant_id, kind, role, name, instance_id, shown, scopes, parent_id, made_by, created_at, expires_at,
    revoked_at, last_used_at
from api_tokens
where hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2)
  and not exists (
      select 1 from api_tokens p
      where p.id = api_tokens.parent_id and (p.revoked_at is not null or p.expires_at <= $2)
  )
