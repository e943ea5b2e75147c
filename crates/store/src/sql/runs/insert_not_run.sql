-- Makes the row of an occurrence that does not become a run: skipped, or a stretch of missed ones.
-- $1 id, $2 tenant, $3 input, $4 status, $5 priority, $6 automation, $7 trigger, $8 instant,
-- $9 last instant of the stretch, $10 count, $11 content, $12 reason, $13 now
insert into agent_runs
    (id, tenant_id, input_id, attempt, failures, status, origin, priority, automation_id, trigger_id,
     scheduled_for, missed_until, occurrences, exclusive, content, reason, input_at, created_at, ended_at)
values ($1, $2, $3, 1, 0, $4, 'occurrence', $5, $6, $7, $8, $9, $10, false, $11, $12, $8, $13, $13)
