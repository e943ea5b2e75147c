-- Returns a page of a tenant's feed in the order of commits: the logs of its sessions and of its automations, each
-- event with its message. `wanted` is true if the event belongs to the automation by its session, its run or its log.
-- :tenant, :transaction, :log, :seq of the event after which to begin, :horizon the first transaction that may be
-- open, :limit, :automation or null
with page as (
    select * from (
        select * from (
            select transaction_id, session_id as log_id, seq, session_id, kind, ref_id, body, created_at
            from session_events
            where tenant_id = :tenant and (transaction_id, session_id, seq) > (:transaction, :log, :seq) and transaction_id < :horizon
            order by transaction_id, session_id, seq
            limit :limit
        ) of_sessions
        union all
        select * from (
            select transaction_id, automation_id as log_id, seq, cast(null as uuid) as session_id, kind, ref_id, body, created_at
            from automation_events
            where tenant_id = :tenant and (transaction_id, automation_id, seq) > (:transaction, :log, :seq) and transaction_id < :horizon
            order by transaction_id, automation_id, seq
            limit :limit
        ) of_automations
    ) found
    order by transaction_id, log_id, seq
    limit :limit
)
select page.transaction_id, page.log_id, page.seq, page.session_id, page.kind, page.ref_id, page.body, page.created_at,
    s.schedule_id, r.automation_id as run_automation_id,
    coalesce(:automation is null or s.schedule_id = :automation or r.automation_id = :automation
        or (page.session_id is null and page.log_id = :automation), false) as wanted,
    m.id as message_id, m.seq as message_seq, m.run_id as message_run_id, m.from_seat_id as message_seat_id,
    m.role as message_role, m.kind as message_kind, m.content as message_content, m.metadata as message_metadata,
    m.created_at as message_created_at, k.key as task_key, d.name as task_seat
from page
left join agent_sessions s on s.id = page.session_id
left join agent_messages m on page.kind = 'message' and m.id = page.ref_id and m.session_id = page.session_id
left join approvals a on page.kind = 'approval' and a.id = page.ref_id and a.session_id = page.session_id
left join questions q on page.kind = 'approval' and q.id = page.ref_id and q.session_id = page.session_id
left join agent_runs r on r.id = case page.kind when 'run' then page.ref_id when 'approval' then coalesce(a.run_id, q.run_id) else m.run_id end
left join agent_tasks k on m.role = 'user' and r.origin = 'task' and k.id = r.task_id
left join agent_definitions d on k.id is not null and d.id = r.seat_id
order by page.transaction_id, page.log_id, page.seq
