-- Returns the facts about the run whose agent has asked a question, on which the turn of the answer depends. `chain_length` is
-- that of the shortest chain of message turns to which a message of its input belongs. `automation_id` is null if it was deleted.
-- $1 run
select r.origin, r.exclusive,
    (select a.id from automations a where a.id = r.automation_id and a.deleted_at is null) as automation_id,
    exists (select 1 from goals g where g.session_id = r.session_id) as is_of_goal,
    (select min(coalesce(m.chain_length, 1)) from agent_messages m where m.input_id = r.input_id) as chain_length
from agent_runs r
where r.id = $1
