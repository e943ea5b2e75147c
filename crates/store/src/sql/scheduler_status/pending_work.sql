-- Returns the pending work of the scheduler in one query: the instant of the next due trigger, and the end of the
-- next backoff. A backoff that has ended does not count, because its run waits for a seat and not for the time.
-- `question_deadline` is the next instant at which the default of a question counts, `goal_deadline` the next deadline of a
-- goal. `has_idle_goal` is true if an active goal has no open run, question, check or
-- deadline. `has_seat_change` may be true for the seats of this server although nothing has changed: it is a hint.
-- `has_lost_checks` is true if checks wait for a removed instance.
-- `has_promotable` is true if a waiting run could start, although no promotion has found it. `has_removed_instance` is
-- true if a run waits for a removed instance. `directory_refusal` is the instant of the oldest refusal of a run whose
-- directory is not on a server. `has_outdated_triggers` is true if an older edition of the zone rules computed the next
-- instant of a trigger that is not due yet.
-- $1 now, $2 the highest format that this server supports: it fires nothing that needs a later one, $3 edition of the
-- zone rules of this server, $4 oldest heartbeat of a server that is online
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
    (select min(deadline_at) from questions where state = 'pending' and needs_format <= $2) as question_deadline,
    (
        select min(at)
        from (
            select min(check_at) as at from goals where check_at is not null and needs_format <= $2
            union all
            select min(until_at) from goals
            where until_at is not null and state = 'active' and not until_passed and needs_format <= $2
        ) deadlines
    ) as goal_deadline,
    exists (
        select 1
        from goals g
        where g.state in ('active', 'paused') and g.state = 'active' and g.check_at is null and g.needs_format <= $2
          and not exists (
              select 1 from agent_runs r
              where r.session_id = g.session_id and r.status in ('queued', 'deferred', 'delivered', 'running')
          )
          and not exists (select 1 from questions q where q.session_id = g.session_id and q.state = 'pending')
          and not exists (
              select 1 from task_checks c where c.session_id = g.session_id and c.status in ('waiting', 'running')
          )
    ) as has_idle_goal,
    exists (
        select 1
        from goals g
        -- `cross join`: SQLite reads the goals first, and not the seats of all sessions.
        cross join agent_definitions d
        left join instances i on i.tenant_id = d.tenant_id and i.id = d.instance_id
        left join agent_runs r on r.seat_id = d.id and r.status in ('queued', 'delivered', 'running')
        left join agent_runs w on w.seat_id = d.id and w.status = 'deferred' and w.task_id is not null
        left join servers v on v.instance_id = case
            when r.id is not null then r.instance_id
            when w.id is not null then w.instance_id
            else coalesce((
                select c.instance_id from task_checks c
                where c.seat_id = d.id and c.status in ('waiting', 'running')
                order by c.created_at, c.task_id
                limit 1
            ), d.instance_id)
        end
        where g.state in ('active', 'paused') and g.needs_format <= $2 and d.session_id = g.session_id
          and d.presence <> 'removed'
          and d.presence <> case
              when i.state = 'gone' then 'removed'
              when v.stopped_at is not null or v.seen_at < $4 then 'offline'
              else 'online'
          end
    ) as has_seat_change,
    exists (
        select 1
        from task_checks c
        join instances i on i.tenant_id = c.tenant_id and i.id = c.instance_id and i.state = 'gone'
        join goals g on g.session_id = c.session_id and g.needs_format <= $2
        where c.status in ('waiting', 'running')
    ) as has_lost_checks,
    exists (
        select 1
        from agent_runs r
        join agent_sessions s on s.id = r.session_id and s.state = 'active'
        where r.status = 'deferred'
          and (r.not_before is null or r.not_before <= $1)
          and (r.task_id is null or not exists (
              select 1 from goals g where g.session_id = r.session_id and g.state = 'paused' and g.reason = 'person'
          ))
          and not exists (
              select 1 from agent_runs a
              where a.seat_id = r.seat_id and a.status in ('queued', 'delivered', 'running')
          )
          and not (r.exclusive and exists (
              select 1 from agent_runs a
              where a.automation_id = r.automation_id and a.exclusive
                and a.status in ('queued', 'delivered', 'running')
          ))
    ) as has_promotable,
    exists (
        select 1
        from instances i
        join agent_runs r on r.tenant_id = i.tenant_id and r.instance_id = i.id and r.status = 'queued'
        where i.state = 'gone'
    ) or exists (
        select 1
        from agent_runs r
        join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id
        where r.status in ('queued', 'delivered', 'running') and r.status = 'delivered' and r.worker_id = 'trigger-file'
          and i.state = 'gone'
    ) as has_removed_instance,
    (select min(refused_at) from directory_refusals) as directory_refusal,
    -- The order makes PostgreSQL use the index: it ignores the order of `exists`, and expects to find a row at once.
    coalesce((
        select true from automation_triggers t
        where t.next_fire_at is not null and t.kind = 'cron' and t.spec ->> 'zone' <> 'UTC'
          and coalesce(case when t.zone_rules_for = t.next_scheduled_for then t.zone_rules end, '') < $3
          and t.next_fire_at > $1
          and t.automation_id not in (
              select id from automations where needs_format > 1 and needs_format > $2
              union all
              select automation_id from automation_triggers
              where needs_format > 1 and needs_format > $2 and deleted_at is null
          )
        order by coalesce(case when t.zone_rules_for = t.next_scheduled_for then t.zone_rules end, ''), t.next_fire_at
        limit 1
    ), false) as has_outdated_triggers
