-- Lists the sessions that an automation created, the newest first.
-- :tenant, :type or null, :before the id before which to begin, :kind or null, :state or null, :of_goal true for the
-- sessions of goals, false for the others, or null, :automation, :lower_pattern text in lower case as a pattern or
-- null, :pattern the text as it was written as a pattern, :id_pattern a piece of an id as a pattern or null, :limit
select id, tenant_id, kind, type, state, state_reason, session_key, title, cwd, channel, chat_id, thread, schedule_id, last_seq, created_at, updated_at
from agent_sessions
where schedule_id = :automation and tenant_id = :tenant and id < :before
  and (:type is null or type = :type)
  and (:kind is null or kind = :kind)
  and (:state is null or state = :state)
  and (:of_goal is null or exists (select 1 from goals g where g.session_id = agent_sessions.id) = :of_goal)
  and (:lower_pattern is null
      or lower(title) like :lower_pattern escape '\' or title like :pattern escape '\'
      or lower(session_key) like :lower_pattern escape '\' or session_key like :pattern escape '\'
      or lower(hex(id)) like :id_pattern)
order by id desc
limit :limit
