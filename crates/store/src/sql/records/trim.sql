-- Removes the internal records of runs that ended long ago, the oldest first.
-- $1 oldest end that stays, $2 limit
delete from run_records where run_id in (
    select d.run_id
    from run_records d
    where d.created_at < $1
      and (select r.ended_at from agent_runs r where r.id = d.run_id) < $1
    order by d.created_at
    limit $2
)
