-- Inserts a pending approval of a running attempt. Returns no row if the attempt is being cancelled, because no
-- decision would reach the agent, or if the ID already exists.
-- :id, :run, :tool_kind tool's kind, :title, :tool_call, :input or null, :input_cut whether that is cut,
-- :long_input the cut input as JSON or null, :input_bytes its whole length or null, :deadline, :now
insert into approvals
    (id, tenant_id, session_id, run_id, automation_id, tool_kind, title, tool_call, input, input_cut, long_input,
    input_bytes, state, deadline_at, created_at)
select :id, r.tenant_id, r.session_id, r.id, r.automation_id, :tool_kind, :title, :tool_call, :input, :input_cut, :long_input, :input_bytes, 'pending', :deadline, :now
from agent_runs r
where r.id = :run and r.status = 'running' and r.cancel_requested_at is null
on conflict (id) do nothing
returning id
