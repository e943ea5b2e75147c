-- Decides an approval that is pending before its deadline, while its attempt is running and not being cancelled.
-- Returns no row otherwise.
-- :tenant, :id, :state, :now, :decided_by the person's name, :token the person's token or null, :comment or null
update approvals
set state = :state, decided_at = :now, decided_by = :decided_by, decided_by_token = :token, comment = :comment
where id = :id and tenant_id = :tenant and state = 'pending' and deadline_at > :now
  and exists (select 1 from agent_runs r
    where r.id = approvals.run_id and r.status = 'running' and r.cancel_requested_at is null)
returning id, session_id, run_id, tool_kind, title
