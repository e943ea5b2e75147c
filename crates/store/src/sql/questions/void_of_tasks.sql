-- Voids the pending questions of the tasks of a goal for which nothing waits any more: neither the task, whose newest turn has
-- asked them, nor a turn that may still end with them.
-- $1 session, $2 now
update questions set state = 'void', closed_at = $2
where session_id = $1 and state = 'pending' and kind = 'tool'
  and exists (
      select 1
      from agent_runs r
      join agent_tasks t on t.id = r.task_id
      where r.id = questions.run_id
        and not exists (
            select 1 from agent_runs o
            where o.input_id = r.input_id and o.status in ('queued', 'deferred', 'delivered', 'running')
        )
        and not (
            t.status = 'RUNNING' and t.step = 'question'
            and r.input_id = (
                select n.input_id from agent_runs n
                where n.session_id = r.session_id and n.task_id = r.task_id
                order by n.id desc
                limit 1
            )
        )
  )
returning id, session_id, run_id, text
