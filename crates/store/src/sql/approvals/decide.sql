-- Decides an approval that waits and is in time, while its attempt is under way and is not being called off.
-- No row: it was over.
-- :tenant, :id, :state, :now, :decided_by who, :token their token or null, :comment or null
update approvals
set state = :state, decided_at = :now, decided_by = :decided_by, decided_by_token = :token, comment = :comment
where id = :id and tenant_id = :tenant and state = 'pending' and deadline_at > :now
  and exists (select 1 from agent_runs r
    where r.id = approvals.run_id and r.status = 'running' and r.cancel_requested_at is null)
returning id, session_id, run_id, tool_kind, title
