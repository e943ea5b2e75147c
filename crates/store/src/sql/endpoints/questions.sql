-- Returns the questions of notifications.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, tenant_id, session_id, seat_id, run_id, automation_id, kind, text, body, needs_format, state, deadline_at, created_at, closed_at, answer, answered_by, answered_by_token, answer_input_id
from questions
where id in (select id from item)
