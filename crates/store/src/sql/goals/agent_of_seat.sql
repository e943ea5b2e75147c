-- Reads the name of the agent of a seat.
-- $1 seat
select h.name from agent_definitions d join harnesses h on h.id = d.harness_id where d.id = $1
