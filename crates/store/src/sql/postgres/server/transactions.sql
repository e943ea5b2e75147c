-- Lists the oldest open transactions of other clients in this database, as far as the role may see.
-- $1 limit
select cast(pid as bigint) as process, cast(usename as text) as role, application_name as program,
    state like 'idle in transaction%' as idle, xact_start as since
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
  and backend_type = 'client backend' and xact_start is not null
order by xact_start, pid
limit $1
