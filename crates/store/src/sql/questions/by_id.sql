-- Reads a question.
-- $1 tenant or null, $2 id
select id, tenant_id, session_id, seat_id, run_id, automation_id, kind, text, body, needs_format, state, deadline_at, created_at, closed_at, answer, answered_by, answered_by_token, answer_input_id
from questions
where id = $2 and ($1 is null or tenant_id = $1)
