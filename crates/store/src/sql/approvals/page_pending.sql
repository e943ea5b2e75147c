-- Lists a tenant's pending approvals, the newest first.
-- $1 tenant, $2 the id before which to begin, $3 limit
select id, tenant_id, session_id, run_id, automation_id, tool_kind, title, tool_call, input, input_cut, state, deadline_at, decided_at, decided_by, decided_by_token, comment, created_at
from approvals
where tenant_id = $1 and id < $2 and state = 'pending'
order by id desc
limit $3
