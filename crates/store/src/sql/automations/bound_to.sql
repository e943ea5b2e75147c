-- Lists the automations of people that are bound to a session.
-- $1 tenant, $2 key
select id, tenant_id, name, pause_reason, paused_at, attention, prompt, harness_id, cwd, placed_on, session_mode, bound_session_key, current_session_id, policies, settings, permissions, needs_format, consecutive_failures, made_by_session_id, made_by_run_id, made_by_turn, made_by_name, expires_at, created_at, updated_at, deleted_at
from automations
where tenant_id = $1 and bound_session_key = $2 and kind = 'user' and deleted_at is null
order by name, id
