-- Reads automations, ordered by ID. The transaction holds the only write lock already.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, tenant_id, name, pause_reason, paused_at, attention, prompt, harness_id, cwd, placed_on, session_mode, bound_session_key, current_session_id, policies, settings, permissions, needs_format, consecutive_failures, made_by_session_id, made_by_run_id, made_by_turn, made_by_name, expires_at, created_at, updated_at, deleted_at
from automations
where id in (select id from item)
order by id
