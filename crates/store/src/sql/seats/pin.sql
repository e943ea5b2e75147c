-- Pins seats to the instance on which their first turns begin, because the memory of their agents will be there.
-- Each row: $1 seat. $2 instance, $3 now
with item (id) as (values /* row */ ($1))
update agent_definitions set instance_id = $2, updated_at = $3
where instance_id is null and id in (select id from item)
