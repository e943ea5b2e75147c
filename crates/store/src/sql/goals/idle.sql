-- Lists active goals that have no open run, question, check or deadline. `pending_work.sql` has the same condition. The states of
-- the index `goals_open` are named beside the state that is searched, because SQLite proves only with them that it may use it.
-- $1 the only goal to check, or null, $2 highest format, $3 limit
select g.session_id
from goals g
where g.state in ('active', 'paused') and g.state = 'active' and g.check_at is null and g.needs_format <= $2 and ($1 is null or g.session_id = $1)
  and not exists (
      select 1 from agent_runs r
      where r.session_id = g.session_id and r.status in ('queued', 'deferred', 'delivered', 'running')
  )
  and not exists (select 1 from questions q where q.session_id = g.session_id and q.state = 'pending')
  and not exists (
      select 1 from task_checks c where c.session_id = g.session_id and c.status in ('waiting', 'running')
  )
order by g.session_id
limit $3
