-- Says when the next backoff is over.
select min(not_before) as at from agent_runs where status = 'deferred' and not_before is not null
