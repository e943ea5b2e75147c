-- Adds to the log of a delivery what became of an attempt.
-- $1 delivery, $2 number, $3 tenant, $4 status or null, $5 error or null, $6 answer or null,
-- $7 started at, $8 ended at
insert into webhook_attempts
    (delivery_id, number, tenant_id, status, error, answer, started_at, ended_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
