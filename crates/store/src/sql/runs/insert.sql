-- Makes an attempt that holds its seat or waits for it. The unique indexes refuse a second active
-- run of a seat, a second first attempt of an occurrence and a second row for one attempt.
-- $1 id, $2 tenant, $3 input, $4 attempt, $5 failures, $6 status, $7 origin, $8 priority,
-- $9 session, $10 seat, $11 automation, $12 trigger, $13 instant, $14 exclusive, $15 content,
-- $16 not before, $17 interrupted run, $18 input at, $19 now
insert into agent_runs
    (id, tenant_id, input_id, attempt, failures, status, origin, priority, session_id, seat_id,
     automation_id, trigger_id, scheduled_for, exclusive, content, not_before, interrupted_run_id,
     input_at, created_at, instance_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        (select instance_id from agent_definitions where id = $10))
