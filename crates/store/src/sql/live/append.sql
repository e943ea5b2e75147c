-- Adds a piece to the text that a running turn has written. A piece that is sent again changes nothing; a piece that
-- has grown replaces the shorter one.
-- $1 run, $2 tenant, $3 position in bytes, $4 text, $5 now
insert into run_live (run_id, tenant_id, position, text, written_at) values ($1, $2, $3, $4, $5)
on conflict (run_id, position) do update
set text = excluded.text, written_at = excluded.written_at
where length(excluded.text) > length(run_live.text)
