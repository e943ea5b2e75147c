-- Asks a person for a permission that an attempt wants. Nothing where it is being called off, since no answer
-- would reach it, and where it was asked already.
-- $1 id, $2 run, $3 tool's kind, $4 title, $5 tool call, $6 input or null, $7 whether that is cut,
-- $8 deadline, $9 now
insert into approvals
    (id, tenant_id, session_id, run_id, automation_id, tool_kind, title, tool_call, input, input_cut, state,
    deadline_at, created_at)
select $1, r.tenant_id, r.session_id, r.id, r.automation_id, $3, $4, $5, $6, $7, 'pending', $8, $9
from agent_runs r
where r.id = $2 and r.status = 'running' and r.cancel_requested_at is null
on conflict (id) do nothing
returning id
