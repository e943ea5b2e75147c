-- Inserts an attempt that holds its seat or waits for it. The unique indexes refuse a second active run of a seat, a
-- second first attempt of an occurrence and a second row for one attempt. The turn of a task is pinned to the instance of its
-- memory, and to that of the files which it shares with other seats, unless they are on all servers. Files on a removed
-- instance are lost, so that they pin no turn of another seat.
-- :id, :tenant, :input, :attempt, :failures, :status, :origin, :priority, :session, :seat, :automation,
-- :trigger, :task, :prompt of the task, :review of the task, :instant, :exclusive, :content, :not_before, :interrupted_run, :input_at, :now
insert into agent_runs
    (id, tenant_id, input_id, attempt, failures, status, origin, priority, session_id, seat_id,
     automation_id, trigger_id, task_id, task_prompt, task_review, scheduled_for, exclusive, content, not_before, interrupted_run_id,
     input_at, created_at, instance_id)
values /* row */ (:id, :tenant, :input, :attempt, :failures, :status, :origin, :priority, :session, :seat, :automation, :trigger, :task, :prompt, :review, :instant, :exclusive, :content, :not_before, :interrupted_run, :input_at, :now,
        (select coalesce(
                m.instance_id,
                case when m.task_id is null or d.directory = 'shared' and g.session_id is null then d.instance_id end,
                d.placed_on,
                case when :task is not null and d.directory = 'shared' and g.session_id is null then (
                    select x.instance_id from agent_definitions x
                    join instances i on i.tenant_id = x.tenant_id and i.id = x.instance_id and i.state <> 'gone'
                    where x.session_id = d.session_id and x.directory = 'shared' and x.presence <> 'removed'
                    order by x.id limit 1
                ) end)
            from agent_definitions d
            left join task_memories m on m.task_id = :task and m.seat_id = d.id and m.review = :review
            left join goals g on :task is not null and g.session_id = d.session_id and g.on_all_servers
            where d.id = :seat))
