-- Lists the approvals of a run, the newest first.
-- :tenant or null, :before the id before which to begin, :state or null, :limit, :run, :automation or null,
-- :session or null
select id, tenant_id, session_id, run_id, automation_id, tool_kind, title, tool_call, input, input_cut, state, deadline_at, decided_at, decided_by, decided_by_token, comment, created_at
from approvals
where run_id = :run and id < :before and (:tenant is null or tenant_id = :tenant)
  and (:state is null or state = :state)
  and (:automation is null or automation_id = :automation)
  and (:session is null or session_id = :session)
order by id desc
limit :limit
