-- Counts the questions of a turn, and those of them that a person or the deadline has answered.
-- $1 input
select count(*) as asked, coalesce(sum(case when state = 'pending' then 0 else 1 end), 0) as answered
from questions
where input_id = $1 and kind = 'tool' and state in ('pending', 'answered', 'expired')
