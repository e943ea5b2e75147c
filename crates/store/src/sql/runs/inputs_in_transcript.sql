-- Lists the inputs that the transcript shows already, because an earlier attempt has begun its turn.
-- Each row: $1 input
with item (id) as (values /* row */ ($1))
select item.id
from item
where exists (
    select 1 from agent_messages m join agent_runs r on r.id = m.run_id
    where r.input_id = item.id and m.role = 'user'
)
