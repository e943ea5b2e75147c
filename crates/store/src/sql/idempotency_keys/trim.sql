-- Removes the keys that were claimed before an instant, the oldest first.
-- $1 oldest that stays, $2 limit
delete from idempotency_keys where (tenant_id, key) in (
    select tenant_id, key from idempotency_keys where created_at < $1 order by created_at limit $2
)
