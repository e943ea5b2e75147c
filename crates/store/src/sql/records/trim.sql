-- Removes the internal records of runs that ended before an instant, the oldest first. A run that ended before an
-- instant was created before it, so its ID is lower than the first ID of that instant. If a clock was set back, a
-- record may violate this, and then stays longer.
-- $1 oldest end that stays, $2 the first id of that instant, $3 limit
delete from run_records where run_id in (
    select d.run_id
    from run_records d
    where d.run_id < $2
      and (select r.ended_at from agent_runs r where r.id = d.run_id) < $1
    order by d.run_id
    limit $3
)
