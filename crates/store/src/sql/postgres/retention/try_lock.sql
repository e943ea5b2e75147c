-- Takes retention's lock until the end of the transaction, unless another process holds it.
-- $1 the key of the lock
select pg_try_advisory_xact_lock($1) as taken
