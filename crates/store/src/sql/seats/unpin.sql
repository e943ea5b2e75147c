-- Unpins seats on which no turn has ended, so that a retry may run on another instance, unless a person
-- has placed them.
-- Each row: $1 seat. $2 now
with item (id) as (values /* row */ ($1))
update agent_definitions set instance_id = null, updated_at = $2
where acp_session_id is null and instance_id is not null and id in (select id from item)
