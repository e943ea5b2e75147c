-- Inserts the token of a browser that another token signs in, with the permissions of that token. No row: that token
-- is revoked or expired. If that token is itself a browser's, its parent becomes the parent, so that every browser
-- token is one step from the token that ends it.
-- :id, :hash, :shown beginning, :expires_at, :tenant or null, :signed_in_by the token that signs in, :now
insert into api_tokens
    (id, tenant_id, kind, role, name, hash, shown, scopes, parent_id, created_at, expires_at)
select :id, p.tenant_id, 'browser', p.role, p.name, :hash, :shown, p.scopes, p.id, :now, :expires_at
from api_tokens s
join api_tokens p on p.id = coalesce(s.parent_id, s.id)
where s.id = :signed_in_by and p.role in ('admin', 'member', 'viewer')
  and s.revoked_at is null and (s.expires_at is null or s.expires_at > :now)
  and p.revoked_at is null and (p.expires_at is null or p.expires_at > :now)
  and (:tenant is null or p.tenant_id = :tenant)
returning id, tenant_id, kind, role, name, instance_id, shown, scopes, parent_id, made_by, created_at, expires_at,
    revoked_at, last_used_at
