-- Counts the questions that an agent has asked by the tool in a turn, in all attempts at its input.
-- $1 input
select count(*) as asked from questions where input_id = $1 and kind = 'tool'
