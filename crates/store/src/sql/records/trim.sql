-- Removes the internal records of runs that ended long ago, the oldest first.
-- $1 oldest end that stays, $2 limit
delete from run_records where run_id in (
    select d.run_id
    from run_records d
    join agent_runs r on r.id = d.run_id
    where d.created_at < $1 and r.ended_at < $1
    order by d.created_at
    limit $2
)
