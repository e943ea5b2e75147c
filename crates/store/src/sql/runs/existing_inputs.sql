-- Lists the inputs that exist already.
-- Each row: $1 input
with item (id) as (values /* row */ ($1))
select item.id
from item
where exists (select 1 from agent_runs r where r.input_id = item.id and r.attempt = 1)
