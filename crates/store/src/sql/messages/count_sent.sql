-- Counts the texts that the attempts at an input have sent to seats.
-- $1 input
select count(distinct m.content) as sent
from agent_runs r
join agent_messages m on m.run_id = r.id
where r.input_id = $1 and m.to_seat_id is not null
