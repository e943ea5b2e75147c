-- Inserts the row of an occurrence that does not become a run: a skipped one, or a range of missed ones.
-- :id, :tenant, :input, :status, :priority, :automation, :trigger, :instant, :last_instant last instant of the
-- range or null, :count, :content, :reason, :now
insert into agent_runs
    (id, tenant_id, input_id, attempt, failures, status, origin, priority, automation_id, trigger_id,
     scheduled_for, missed_until, occurrences, exclusive, content, reason, input_at, created_at, ended_at)
values /* row */ (:id, :tenant, :input, 1, 0, :status, 'occurrence', :priority, :automation, :trigger, :instant, :last_instant, :count, false, :content, :reason, :instant, :now, :now)
