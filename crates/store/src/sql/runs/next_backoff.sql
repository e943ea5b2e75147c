-- Says when the next backoff is over. One that is over already waits for its seat, not for the time.
-- $1 now
select min(not_before) as at from agent_runs where status = 'deferred' and not_before > $1
