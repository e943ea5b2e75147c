-- Writes an event into an automation's own log, with the number of its transaction.
-- $1 automation, $2 number, $3 tenant, $4 kind, $5 what it is about, $6 body, $7 now
insert into automation_events (automation_id, seq, tenant_id, kind, ref_id, body, created_at, transaction_id)
values ($1, $2, $3, $4, $5, $6, $7, (select last from transaction_ids))
