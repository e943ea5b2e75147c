-- Claims an idempotency key for a request, and reserves the ID of the object that the request creates. If the key is
-- already claimed, changes nothing and returns the existing claim.
-- $1 tenant, $2 key, $3 hash of the request, $4 reserved id, $5 now
insert into idempotency_keys (tenant_id, key, request_sha256, created_id, created_at)
values ($1, $2, $3, $4, $5)
on conflict (tenant_id, key) do update set key = excluded.key
returning request_sha256, created_id, status, response
