-- Lists the seats that a transition must lock for an input of a seat: the seat, and all seats of its goal.
-- $1 seat
select d.id
from agent_definitions s
join goals g on g.session_id = s.session_id
join agent_definitions d on d.session_id = s.session_id
where s.id = $1
