-- Lists the approvals of a run, the newest first.
-- $1 tenant or null, $2 the id before which to begin, $3 state or null, $4 limit, $5 run,
-- $6 automation or null, $7 session or null
select id, tenant_id, session_id, run_id, automation_id, tool_kind, title, tool_call, input, input_cut, state, deadline_at, decided_at, decided_by, decided_by_token, comment, created_at
from approvals
where run_id = $5 and id < $2 and ($1 is null or tenant_id = $1)
  and ($3 is null or state = $3)
  and ($6 is null or automation_id = $6)
  and ($7 is null or session_id = $7)
order by id desc
limit $4
