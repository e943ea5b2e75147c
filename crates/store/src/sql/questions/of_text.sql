-- Finds the question of a turn with this text, asked by the tool in any attempt at the input.
-- $1 input, $2 text
select id from questions where input_id = $1 and text = $2 and kind = 'tool'
