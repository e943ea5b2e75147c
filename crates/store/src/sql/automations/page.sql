-- Lists a tenant's automations, the newest first. Deleted ones appear only if the state asks for them.
-- :tenant, :before the id before which to begin, :state or null, :lower_pattern text in lower case as a pattern
-- or null, :pattern the text as it was written as a pattern, :session the session in which they run or
-- null, :key and :other_key its key and another one or null, :limit
select id, tenant_id, name, pause_reason, paused_at, attention, prompt, harness_id, cwd, placed_on, session_mode, bound_session_key, current_session_id, policies, settings, permissions, needs_format, consecutive_failures, made_by_session_id, made_by_run_id, made_by_turn, made_by_name, expires_at, created_at, updated_at, deleted_at
from automations
where tenant_id = :tenant and id < :before
  and coalesce(:state, case when paused_at is null then 'enabled' else 'paused' end) = case
      when deleted_at is not null then 'deleted'
      when paused_at is not null then 'paused'
      else 'enabled'
  end
  and (:lower_pattern is null or lower(name) like :lower_pattern escape '\' or name like :pattern escape '\')
  and (:session is null or current_session_id = :session or bound_session_key in (:key, :other_key))
order by id desc
limit :limit
