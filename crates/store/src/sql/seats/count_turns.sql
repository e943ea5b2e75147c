-- Counts the turns that seats have ended with the memories of tasks. `seats/store_agent_session` counts all others.
-- Each row: $1 seat
with item (id) as (values /* row */ ($1))
update agent_definitions set turns = turns + 1
where id in (select id from item)
