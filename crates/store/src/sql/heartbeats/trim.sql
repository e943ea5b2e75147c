-- Removes heartbeats that runs left behind which are over.
-- $1 oldest end that stays, $2 limit
delete from run_heartbeats where run_id in (
    select h.run_id
    from run_heartbeats h
    join agent_runs r on r.id = h.run_id
    where r.ended_at < $1
    limit $2
)
