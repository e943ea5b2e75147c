-- Removes the internal records of runs that ended long ago, the oldest first. Runs that ended before a
-- time were made before it, so their ids are lower than its first one; the record of one that a clock set
-- back makes look otherwise stays for longer.
-- $1 oldest end that stays, $2 the first id of that instant, $3 limit
delete from run_records where run_id in (
    select d.run_id
    from run_records d
    where d.run_id < $2
      and (select r.ended_at from agent_runs r where r.id = d.run_id) < $1
    order by d.run_id
    limit $3
)
