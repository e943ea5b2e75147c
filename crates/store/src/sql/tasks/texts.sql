-- Reads the texts of tasks.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, number, title, description, acceptance, result
from agent_tasks
where id in (select id from item)
