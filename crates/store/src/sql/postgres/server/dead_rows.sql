-- Returns the numbers of live and dead rows of the tables that change most, as the server's statistics estimate them.
select cast(relname as text) as name, n_dead_tup as dead, n_live_tup as live
from pg_stat_user_tables
where schemaname = 'automation'
  and relname in ('agent_runs', 'automation_triggers', 'run_heartbeats', 'run_live')
order by relname
