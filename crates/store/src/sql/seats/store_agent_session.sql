-- Stores the IDs of the agents' sessions in seats whose turns have ended, so that later turns can restore them. The agent
-- of a turn that succeeded has had the report of its prompt, if that prompt could have one.
-- Each row: $1 seat, $2 agent's session id, $3 run, $4 its start if it succeeded or null. $5 now
with item (id, acp_session_id, ended_run, succeeded_since) as (values /* row */ ($1, $2, $3, $4))
update agent_definitions
set acp_session_id = item.acp_session_id, turns = turns + 1, updated_at = $5,
    runs_reported_until = case
        when item.succeeded_since is not null and exists (
            select 1 from run_records d where d.run_id = item.ended_run and d.run_report_version is not null
        ) then item.succeeded_since
        else runs_reported_until
    end
from item
where agent_definitions.id = item.id
