-- Inserts a transcript row, or updates the row if the same run wrote it. No row: the ID belongs to another run.
-- :id, :tenant, :session, :seq number, :run, :from_seat, :to_seat, :role, :kind, :content, :metadata, :now
insert into agent_messages
    (id, tenant_id, session_id, seq, run_id, from_seat_id, to_seat_id, role, kind, content, metadata, created_at)
values /* row */ (:id, :tenant, :session, :seq, :run, :from_seat, :to_seat, :role, :kind, :content, :metadata, :now)
on conflict (id) do update set content = excluded.content, metadata = excluded.metadata
where agent_messages.run_id = excluded.run_id
