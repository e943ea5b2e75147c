-- Records that a webhook was received. The primary key refuses a second webhook with the same ID.
-- $1 trigger, $2 the webhook's id, $3 tenant, $4 run, $5 now
insert into webhook_receipts (trigger_id, webhook_id, tenant_id, run_id, received_at)
values ($1, $2, $3, $4, $5)
