-- Unpins seats on which no turn has ended, so that a retry may run on another instance, unless a person
-- has placed them. A seat keeps its pin while a memory of a task is on it, because the files of its turns are there, unless
-- these are on all servers.
-- Each row: $1 seat. $2 now
with item (id) as (values /* row */ ($1))
update agent_definitions set instance_id = null, updated_at = $2
where acp_session_id is null and instance_id is not null and id in (select id from item)
  and (
      not exists (select 1 from task_memories m where m.seat_id = agent_definitions.id and m.acp_session_id is not null)
      or directory = 'shared' and exists (
          select 1 from goals g where g.session_id = agent_definitions.session_id and g.on_all_servers
      )
  )
