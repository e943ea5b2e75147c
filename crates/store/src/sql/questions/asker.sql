-- Returns the facts about the run whose agent has asked a question, on which the turn of the answer depends. `chain_length` is
-- that of the shortest chain of message turns to which a message of its input belongs.
-- $1 run
select r.origin, r.exclusive, exists (select 1 from goals g where g.session_id = r.session_id) as is_of_goal,
    (select min(coalesce(m.chain_length, 1)) from agent_messages m where m.input_id = r.input_id) as chain_length
from agent_runs r
where r.id = $1
