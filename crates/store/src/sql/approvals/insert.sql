-- Asks a person for a permission that an attempt wants. Nothing where it is being called off, since no answer
-- would reach it, and where it was asked already.
-- :id, :run, :tool_kind tool's kind, :title, :tool_call, :input or null, :input_cut whether that is cut,
-- :deadline, :now
insert into approvals
    (id, tenant_id, session_id, run_id, automation_id, tool_kind, title, tool_call, input, input_cut, state,
    deadline_at, created_at)
select :id, r.tenant_id, r.session_id, r.id, r.automation_id, :tool_kind, :title, :tool_call, :input, :input_cut, 'pending', :deadline, :now
from agent_runs r
where r.id = :run and r.status = 'running' and r.cancel_requested_at is null
on conflict (id) do nothing
returning id
