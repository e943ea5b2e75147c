-- Inserts the payload of a webhook, with the first attempt of its run.
-- $1 run, $2 tenant, $3 payload
insert into webhook_payloads (run_id, tenant_id, payload) values ($1, $2, $3)
