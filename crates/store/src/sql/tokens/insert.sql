-- Makes a token for a program.
-- $1 id, $2 tenant, $3 role, $4 name, $5 hash, $6 beginning, $7 scopes or null, $8 now,
-- $9 expires at or null
insert into api_tokens
    (id, tenant_id, kind, role, name, hash, shown, scopes, created_at, expires_at)
values ($1, $2, 'token', $3, $4, $5, $6, $7, $8, $9)
