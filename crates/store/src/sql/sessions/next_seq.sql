-- Takes the session's next event number. The row stays locked until the transaction ends, so
-- numbers follow commits and none is missing.
-- $1 id, $2 now
update agent_sessions set last_seq = last_seq + 1, updated_at = $2
where id = $1
returning last_seq, tenant_id
