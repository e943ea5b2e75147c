-- Lists a tenant's runs that have a reason, the newest first. An index has the runs that have one.
-- :tenant, :first_id the lowest id, :before the id before which to begin, :created_from and :created_before
-- instants or null, :origin or null, :reason, :occurrences_only whether only occurrences, :last_attempts_only whether
-- only the last attempt at each input, :status or null, :session or null, :automation or null and :instance or null, :limit
-- and :content_chars the maximum number of characters of an input
select /* columns */ *, substr(content, 1, cast(:content_chars as integer)) as content
from agent_runs
where tenant_id = :tenant and reason = :reason and id < :before and id >= :first_id
  and (:status is null or status = :status)
  and (:session is null or session_id = :session)
  and (:automation is null or automation_id = :automation)
  and (:instance is null or instance_id = :instance)
  and (:created_from is null or created_at >= :created_from)
  and (:created_before is null or created_at < :created_before)
  and (:origin is null or origin = :origin)
  and (not :occurrences_only or trigger_id is not null)
  and (not :last_attempts_only or not exists (
      select 1 from agent_runs later
      where later.input_id = agent_runs.input_id and later.attempt > agent_runs.attempt
  ))
order by id desc
limit :limit
