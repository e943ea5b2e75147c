-- Reads automations that are not deleted.
-- Each row: $1 automation. $2 tenant
with item (id) as (values /* row */ ($1))
select a.id, a.tenant_id, name, pause_reason, paused_at, attention, prompt, harness_id, cwd, placed_on, session_mode, bound_session_key, current_session_id, policies, settings, permissions, needs_format, consecutive_failures, made_by_session_id, made_by_run_id, made_by_turn, made_by_name, expires_at, created_at, updated_at, deleted_at
from item
-- SQLite reads the items first. Otherwise it may choose to read all automations of the tenant for each item.
cross join automations a
where a.id = item.id and a.tenant_id = $2 and deleted_at is null
