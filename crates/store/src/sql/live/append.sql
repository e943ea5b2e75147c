-- Adds to the text that a running turn has written so far.
-- The same piece, sent again, changes nothing; one that has grown meanwhile replaces it.
-- $1 run, $2 tenant, $3 position in bytes, $4 text, $5 now
insert into run_live (run_id, tenant_id, position, text, written_at) values ($1, $2, $3, $4, $5)
on conflict (run_id, position) do update
set text = excluded.text, written_at = excluded.written_at
where length(excluded.text) > length(run_live.text)
