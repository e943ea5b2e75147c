-- Inserts an attempt that holds its seat or waits for it. The unique indexes refuse a second active run of a seat, a
-- second first attempt of an occurrence and a second row for one attempt.
-- :id, :tenant, :input, :attempt, :failures, :status, :origin, :priority, :session, :seat, :automation,
-- :trigger, :task, :prompt of the task, :instant, :exclusive, :content, :not_before, :interrupted_run, :input_at, :now
insert into agent_runs
    (id, tenant_id, input_id, attempt, failures, status, origin, priority, session_id, seat_id,
     automation_id, trigger_id, task_id, task_prompt, scheduled_for, exclusive, content, not_before, interrupted_run_id,
     input_at, created_at, instance_id)
values /* row */ (:id, :tenant, :input, :attempt, :failures, :status, :origin, :priority, :session, :seat, :automation, :trigger, :task, :prompt, :instant, :exclusive, :content, :not_before, :interrupted_run, :input_at, :now,
        (select coalesce(instance_id, placed_on) from agent_definitions where id = :seat))
