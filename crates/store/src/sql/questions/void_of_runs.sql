-- Voids the pending elicitations of attempts that are over or are being cancelled, because no answer would reach the
-- agent. The questions of tools stay, because their answers are later inputs.
-- Each row: $1 run. $2 now
with item (id) as (values /* row */ ($1))
update questions set state = 'void', closed_at = $2
where run_id in (select id from item) and state = 'pending' and kind = 'elicitation'
returning id, session_id, run_id, text
