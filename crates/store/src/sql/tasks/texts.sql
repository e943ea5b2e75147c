-- Reads the texts of tasks, with the number of the turns of each.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, number, title, description, acceptance, result,
    (select count(*) from agent_runs r where r.task_id = agent_tasks.id and r.attempt = 1) as turns
from agent_tasks
where id in (select id from item)
