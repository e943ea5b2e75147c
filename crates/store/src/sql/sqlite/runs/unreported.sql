-- Reads the runs without success of seats that no prompt has reported to their agents: per source at most 110 runs, the
-- newest first, by the last attempt at each input. Skips by quiet hours and prechecks are counted up to 100. Occurrences
-- without a seat belong to the entry seat of the session to which their automation is bound.
-- Each row: $1 run whose turn begins, $2 its seat
with item (run_id, seat_id) as (values /* row */ ($1, $2)),
-- Materialized, because SQLite would otherwise begin some of the joins below at the seats of all sessions.
seat (run_id, seat_id, session_id, is_entry, since) as materialized (
    -- Occurrences may be missed at the very instant at which the first run creates the session.
    select i.run_id, d.id, d.session_id, d.is_entry, coalesce(d.runs_reported_until, d.created_at - 1)
    from item i
    join agent_definitions d on d.id = i.seat_id
),
target (run_id, since, automation_id) as materialized (
    select s.run_id, s.since, a.id
    from seat s
    join automations a on a.id in (
        select x.id
        from automations x
        where x.current_session_id = s.session_id and x.session_mode = 'continuous' and x.deleted_at is null
        limit 100
    )
    where s.is_entry
    union all
    select s.run_id, s.since, a.id
    from seat s
    join agent_sessions e on e.id = s.session_id
    join automations a on a.id in (
        select x.id
        from automations x
        where x.tenant_id = e.tenant_id and x.bound_session_key = e.session_key
            and x.session_mode = 'bound' and x.deleted_at is null
        limit 100
    )
    where s.is_entry
),
found (
    for_run, quiet_hours, declined, id, status, reason, input_at, missed_until, occurrences, ended_at, automation_id,
    trigger_id
) as (
    select s.run_id, 0, 0, r.id, r.status, r.reason, r.input_at, r.missed_until, r.occurrences, r.ended_at,
        r.automation_id, r.trigger_id
    from seat s
    join agent_runs r on r.id in (
        select x.id
        from agent_runs x
        where x.seat_id = s.seat_id and x.ended_at > s.since
            and x.status in ('failed', 'cancelled', 'stalled')
            and not exists (
                select 1 from agent_runs later where later.input_id = x.input_id and later.attempt > x.attempt
            )
        order by x.ended_at desc
        limit 110
    )
    union all
    select t.run_id, 0, 0, r.id, r.status, r.reason, r.input_at, r.missed_until, r.occurrences, r.ended_at,
        r.automation_id, r.trigger_id
    from target t
    join agent_runs r on r.id in (
        select x.id
        from agent_runs x
        where x.automation_id = t.automation_id and x.ended_at > t.since
            and x.status in ('skipped', 'missed') and x.seat_id is null
            and x.reason not in ('quiet hours', 'precheck')
        order by x.ended_at desc
        limit 110
    )
    union all
    select s.run_id, 0, (
        select count(*)
        from (
            select 1
            from agent_runs x
            where x.seat_id = s.seat_id and x.ended_at > s.since and x.status = 'skipped' and x.seat_id is not null
            limit 100
        ) counted
    ), null, null, null, null, null, null, null, null, null
    from seat s
    union all
    select t.run_id, (
        select count(*)
        from (
            select 1
            from agent_runs x
            where x.automation_id = t.automation_id and x.ended_at > t.since
                and x.status = 'skipped' and x.seat_id is null and x.reason = 'quiet hours'
            limit 100
        ) counted
    ), 0, null, null, null, null, null, null, null, null, null
    from target t
)
select f.for_run, f.quiet_hours, f.declined, f.id, f.status, f.reason, f.input_at, f.missed_until, f.occurrences,
    f.ended_at, a.name as automation_name, g.spec
from found f
left join automations a on a.id = f.automation_id
left join automation_triggers g on g.id = f.trigger_id
where f.id is not null or f.quiet_hours + f.declined > 0
