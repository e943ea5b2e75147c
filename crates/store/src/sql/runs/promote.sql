-- Queues waiting runs, and returns those that were promoted. The unique indexes refuse a second active run of a seat
-- or of an automation. `insert.sql` pins the runs to instances by the same rule.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
update agent_runs
set status = 'queued', not_before = null, reason = null, message = null,
    instance_id = (select coalesce(
                m.instance_id,
                case when m.task_id is null or d.directory = 'shared' and g.session_id is null then d.instance_id end,
                d.placed_on,
                case when agent_runs.task_id is not null and d.directory = 'shared' and g.session_id is null then (
                    select x.instance_id from agent_definitions x
                    join instances i on i.tenant_id = x.tenant_id and i.id = x.instance_id and i.state <> 'gone'
                    where x.session_id = d.session_id and x.directory = 'shared' and x.presence <> 'removed'
                    order by x.id limit 1
                ) end)
            from agent_definitions d
            left join task_memories m on m.task_id = agent_runs.task_id and m.seat_id = d.id and m.review = agent_runs.task_review
            left join goals g
                on agent_runs.task_id is not null and g.session_id = d.session_id and g.on_all_servers
            where d.id = agent_runs.seat_id)
where status = 'deferred' and id in (select id from item)
returning id
