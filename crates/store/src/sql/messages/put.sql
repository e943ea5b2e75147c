-- Writes a row of the transcript, or brings one up to date that the same run wrote before; no row
-- means that the id is another run's.
-- $1 id, $2 tenant, $3 session, $4 number, $5 run, $6 from seat, $7 to seat, $8 role, $9 kind,
-- $10 content, $11 metadata, $12 now
insert into agent_messages
    (id, tenant_id, session_id, seq, run_id, from_seat_id, to_seat_id, role, kind, content, metadata, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (id) do update set content = excluded.content, metadata = excluded.metadata
where agent_messages.run_id = excluded.run_id
