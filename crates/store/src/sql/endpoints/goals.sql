-- Returns the facts of goals for notifications, with the number of their open questions.
-- Each row: $1 session
with item (id) as (values /* row */ ($1))
select g.session_id as id, g.text, g.state, g.reason, g.cause,
    (select count(*) from questions q where q.session_id = g.session_id and q.state = 'pending') as open_questions
from goals g
where g.session_id in (select id from item)
