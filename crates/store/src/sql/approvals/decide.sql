-- Decides an approval that waits and is in time, while its attempt is under way and is not being called off.
-- No row: it was over.
-- $1 tenant, $2 id, $3 state, $4 now, $5 who, $6 their token or null, $7 comment or null
update approvals
set state = $3, decided_at = $4, decided_by = $5, decided_by_token = $6, comment = $7
where id = $2 and tenant_id = $1 and state = 'pending' and deadline_at > $4
  and exists (select 1 from agent_runs r
    where r.id = approvals.run_id and r.status = 'running' and r.cancel_requested_at is null)
returning id, session_id, run_id, tool_kind, title
