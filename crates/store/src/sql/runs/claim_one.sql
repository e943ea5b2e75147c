-- Claims one run for a worker: a queued one, or one whose trigger file waits on the instance. Returns no row if another
-- worker has the run, if the run is pinned to another instance, if one of its documents needs a later format, or if its
-- directory is not on this server.
-- $1 worker, $2 now, $3 instance, $4 run, $5 highest format that this server supports
update agent_runs
set status = 'delivered', worker_id = $1, claimed_at = $2
where id = $4 and (instance_id is null or instance_id = $3)
  and (status = 'queued' or status = 'delivered' and worker_id = 'trigger-file')
  and tenant_id not in (select id from tenants where needs_format > 1 and needs_format > $5)
  and (automation_id is null or automation_id not in (
      select id from automations where needs_format > 1 and needs_format > $5
      union all
      select automation_id from automation_triggers
      where needs_format > 1 and needs_format > $5 and deleted_at is null
  ))
  and (trigger_id is null or trigger_id not in (
      select id from automation_triggers where needs_format > 1 and needs_format > $5
  ))
  and seat_id not in (
      -- The parameter comes first, because SQLite searches the index by the first of two bounds, and most seats need a
      -- format above 1.
      select id from agent_definitions where needs_format > $5 and needs_format > 1
      union all
      -- `cross join`: SQLite reads the agents first, of which there are seldom any, and not the seats of all sessions.
      select s.id from harnesses h cross join agent_definitions s
      where s.harness_id = h.id and h.needs_format > 1 and h.needs_format > $5
  )
  and id not in (select run_id from directory_refusals where instance_id = $3)
returning id, tenant_id, attempt, input_at, session_id,
    (select case when d.directory = 'own' then '' else s.cwd end
     from agent_sessions s join agent_definitions d on d.id = agent_runs.seat_id
     where s.id = agent_runs.session_id) as cwd
