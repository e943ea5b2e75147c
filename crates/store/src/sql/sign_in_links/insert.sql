-- Inserts a link that signs a browser in with a valid token. No row: the token is revoked or expired.
-- $1 hash, $2 tenant, $3 token, $4 now, $5 expires at
insert into sign_in_links (hash, tenant_id, token_id, created_at, expires_at)
select $1, t.tenant_id, t.id, $4, $5
from api_tokens t
where t.id = $3 and t.tenant_id = $2
  and t.revoked_at is null and (t.expires_at is null or t.expires_at > $4)
