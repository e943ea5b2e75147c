-- Claims a key for a request, with the id that is reserved for what it makes. Where the key is claimed
-- already nothing changes, and what comes back is what it was claimed for.
-- $1 tenant, $2 key, $3 hash of the request, $4 reserved id, $5 now
insert into idempotency_keys (tenant_id, key, request_sha256, created_id, created_at)
values ($1, $2, $3, $4, $5)
on conflict (tenant_id, key) do update set key = excluded.key
returning request_sha256, created_id, status, response
