-- Records the cursor of the last event that retention has removed from a tenant's feed. Never moves it back.
-- $1 tenant, $2 transaction, $3 log, $4 number
insert into feed_trims (tenant_id, transaction_id, log_id, seq) values ($1, $2, $3, $4)
on conflict (tenant_id) do update
set transaction_id = excluded.transaction_id, log_id = excluded.log_id, seq = excluded.seq
where (excluded.transaction_id, excluded.log_id, excluded.seq)
    > (feed_trims.transaction_id, feed_trims.log_id, feed_trims.seq)
