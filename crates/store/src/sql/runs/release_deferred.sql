-- Ends the wait of runs that are deferred for a reason, so that the next sweep promotes them. Covers one automation,
-- or all of a tenant. The longer list of statuses is redundant, but lets SQLite use the index of open runs.
-- $1 tenant, $2 automation or null, $3 reason, $4 now
update agent_runs set not_before = $4
where tenant_id = $1 and ($2 is null or automation_id = $2)
  and status = 'deferred' and status in ('queued', 'deferred', 'delivered', 'running')
  and reason = $3 and not_before > $4
