-- Lists the runs of an automation that are not over, without those of answers to its questions. The waiting ones come first, so
-- that the end of one that runs promotes none of them.
-- $1 automation
select id from agent_runs
where automation_id = $1 and origin <> 'person' and status in ('queued', 'deferred', 'delivered', 'running')
order by case status when 'deferred' then 0 when 'queued' then 1 when 'delivered' then 2 else 3 end, id
