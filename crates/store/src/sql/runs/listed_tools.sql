-- Finds an attempt at an input whose agent has listed the tools of Matins.
-- $1 input
select id from agent_runs where input_id = $1 and listed_tools limit 1
