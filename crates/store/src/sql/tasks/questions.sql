-- Lists the questions that the tasks of a session put to people, the newest first.
-- $1 session, $2 limit
select d.name as seat, q.text, q.answer
from questions q
join agent_definitions d on d.id = q.seat_id
where q.session_id = $1 and q.kind = 'tool'
order by q.created_at desc, q.id desc
limit $2
