-- Counts the questions of a turn that wait for a person.
-- $1 input
select count(*) as open from questions where input_id = $1 and state = 'pending' and kind = 'tool'
