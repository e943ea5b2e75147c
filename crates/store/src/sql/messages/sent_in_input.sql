-- Returns the messages of one text that the attempts at an input have sent to seats.
-- $1 input, $2 text
select m.id, m.to_seat_id
from agent_runs r
join agent_messages m on m.run_id = r.id
where r.input_id = $1 and m.to_seat_id is not null and m.content = $2
order by m.seq
