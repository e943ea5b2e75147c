-- Counts the automations that an agent has made in a turn, in all attempts at its input, also those that it has removed.
-- $1 session, $2 input
select count(*) as made
from automations
where made_by_session_id = $1 and made_by_run_id in (select id from agent_runs where input_id = $2)
