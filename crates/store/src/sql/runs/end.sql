-- Ends runs, each only if its status is still the one that was read. Returns no row for a run whose status has
-- changed.
-- Each row: :id, :before status before, :after status after, :reason, :message, :stop_reason, :flags, :usage,
-- :acp_session agent's session id. :now
with item (id, before, after, reason, message, stop_reason, flags, usage, acp_session_id)
    as (values /* row */ (:id, :before, :after, :reason, :message, :stop_reason, :flags, :usage, :acp_session))
update agent_runs
set status = item.after, ended_at = :now, reason = item.reason, message = item.message,
    stop_reason = item.stop_reason, flags = item.flags,
    usage = coalesce(item.usage, agent_runs.usage), acp_session_id = item.acp_session_id
from item
where agent_runs.id = item.id and agent_runs.status = item.before
returning agent_runs.id
