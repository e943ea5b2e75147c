-- Ends runs from the status in which each was read; one that does not come back moved meanwhile, and
-- whoever asks has lost it.
-- Each row: $1 id, $2 status before, $3 status after, $4 reason, $5 message, $6 stop reason, $7 flags,
-- $8 usage, $9 agent's session id. $10 now
with item (id, before, after, reason, message, stop_reason, flags, usage, acp_session_id)
    as (values ($1, $2, $3, $4, $5, $6, $7, $8, $9))
update agent_runs
set status = item.after, ended_at = $10, reason = item.reason, message = item.message,
    stop_reason = item.stop_reason, flags = item.flags,
    usage = coalesce(item.usage, agent_runs.usage), acp_session_id = item.acp_session_id
from item
where agent_runs.id = item.id and agent_runs.status = item.before
returning agent_runs.id
