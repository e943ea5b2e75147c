-- Makes the token of a browser that another one signs in: it may do what that one may. No row: that one
-- is worth nothing. A browser's token signs in as the one that it came from, so that none is further than
-- one step from its end.
-- $1 id, $2 hash, $3 beginning, $4 expires at, $5 tenant or null, $6 the token that signs in, $7 now
insert into api_tokens
    (id, tenant_id, kind, role, name, hash, shown, scopes, parent_id, created_at, expires_at)
select $1, p.tenant_id, 'browser', p.role, p.name, $2, $3, p.scopes, p.id, $7, $4
from api_tokens s
join api_tokens p on p.id = coalesce(s.parent_id, s.id)
where s.id = $6 and p.role in ('admin', 'member', 'viewer')
  and s.revoked_at is null and (s.expires_at is null or s.expires_at > $7)
  and p.revoked_at is null and (p.expires_at is null or p.expires_at > $7)
  and ($5 is null or p.tenant_id = $5)
returning id, tenant_id, kind, role, name, shown, scopes, parent_id, created_at, expires_at, revoked_at, last_used_at
