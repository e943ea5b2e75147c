-- Says what the scheduler has to do, in one look: when the next trigger is due, when the next backoff
-- is over (one that is over already waits for its seat, not for the time), and whether something waits
-- that could start: what runs/left_behind.sql would find; and whether something waits for an instance that is
-- gone.
-- $1 now, $2 highest format that this server honours: it fires nothing that needs a later one
select
    (
        select t.next_fire_at from automation_triggers t
        where t.next_fire_at is not null
          and t.automation_id not in (
              select id from automations where needs_format > 1 and needs_format > $2
              union all
              select automation_id from automation_triggers
              where needs_format > 1 and needs_format > $2 and deleted_at is null
          )
        order by t.next_fire_at
        limit 1
    ) as due,
    (select min(not_before) from agent_runs where status = 'deferred' and not_before > $1) as backoff,
    exists (
        select 1
        from agent_runs r
        join agent_sessions s on s.id = r.session_id and s.state = 'active'
        where r.status = 'deferred'
          and (r.not_before is null or r.not_before <= $1)
          and not exists (
              select 1 from agent_runs a
              where a.seat_id = r.seat_id and a.status in ('queued', 'delivered', 'running')
          )
          and not (r.exclusive and exists (
              select 1 from agent_runs a
              where a.automation_id = r.automation_id and a.exclusive
                and a.status in ('queued', 'delivered', 'running')
          ))
    ) as waiting,
    exists (
        select 1
        from instances i
        join agent_runs r on r.tenant_id = i.tenant_id and r.instance_id = i.id and r.status = 'queued'
        where i.state = 'gone'
    ) as gone
