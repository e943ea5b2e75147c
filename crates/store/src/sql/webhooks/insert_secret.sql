-- Inserts the first secret of a trigger.
-- $1 trigger, $2 tenant, $3 secret, $4 now
insert into webhook_secrets (trigger_id, tenant_id, secret, created_at, updated_at)
values ($1, $2, $3, $4, $4)
