-- Returns the length of the shortest chain of message turns to which a message of an input belongs. Null: it carries none.
-- $1 input
select min(coalesce(chain_length, 1)) as chain_length from agent_messages where input_id = $1
