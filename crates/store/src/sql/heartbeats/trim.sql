-- Removes the heartbeats of finished runs.
-- $1 oldest end that stays, $2 limit
delete from run_heartbeats where run_id in (
    select h.run_id
    from run_heartbeats h
    where (select r.ended_at from agent_runs r where r.id = h.run_id) < $1
    limit $2
)
