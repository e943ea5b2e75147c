-- Reads an approval.
-- $1 tenant or null, $2 id
select id, tenant_id, session_id, run_id, automation_id, tool_kind, title, tool_call, input, input_cut, state, deadline_at, decided_at, decided_by, decided_by_token, comment, created_at
from approvals
where id = $2 and ($1 is null or tenant_id = $1)
