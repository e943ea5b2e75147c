-- Lists the questions of a session, the newest first.
-- $1 tenant or null, $2 the id before which to begin, $3 state or null, $4 limit, $5 session
select id, tenant_id, session_id, seat_id, run_id, automation_id, kind, text, body, needs_format, state, deadline_at, created_at, closed_at, answer, answered_by, answered_by_token, answer_input_id
from questions
where session_id = $5 and id < $2 and ($1 is null or tenant_id = $1)
  and ($3 is null or state = $3)
order by id desc
limit $4
