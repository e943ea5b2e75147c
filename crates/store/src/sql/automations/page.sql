-- Lists a tenant's automations, the newest first; removed ones only where they are asked for.
-- $1 tenant, $2 the id before which to begin, $3 state or null, $4 text in lower case as a pattern or
-- null, $5 the text as it was written as a pattern, $6 the session to which their turns go or null,
-- $7 and $8 its key and another one or null, $9 limit
select id, tenant_id, name, pause_reason, paused_at, attention, prompt, harness_id, cwd, session_mode, bound_session_key, current_session_id, policies, settings, permissions, needs_format, consecutive_failures, created_at, updated_at, deleted_at
from automations
where tenant_id = $1 and id < $2
  and coalesce($3, case when paused_at is null then 'enabled' else 'paused' end) = case
      when deleted_at is not null then 'deleted'
      when paused_at is not null then 'paused'
      else 'enabled'
  end
  and ($4 is null or lower(name) like $4 escape '\' or name like $5 escape '\')
  and ($6 is null or current_session_id = $6 or bound_session_key in ($7, $8))
order by id desc
limit $9
