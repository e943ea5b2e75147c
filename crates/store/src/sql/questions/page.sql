-- Lists a tenant's questions, the newest first.
-- $1 tenant, $2 the id before which to begin, $3 state or null, $4 limit
select id, tenant_id, session_id, seat_id, run_id, automation_id, kind, text, body, needs_format, state, deadline_at, created_at, closed_at, answer, answered_by, answered_by_token, answer_input_id
from questions
where tenant_id = $1 and id < $2 and ($3 is null or state = $3)
order by id desc
limit $4
