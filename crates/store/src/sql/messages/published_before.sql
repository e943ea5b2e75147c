-- Returns the messages between the seats of a session before a sequence number, the newest first.
-- $1 tenant, $2 session, $3 to seat or null for all, $4 before, $5 limit
select m.id, m.session_id, m.seq, m.from_seat_id, f.name as from_name, f.role as from_role, m.to_seat_id, t.name as to_name,
    m.content, m.metadata, m.input_id, m.chain_length, m.created_at, m.delivered_at
from agent_messages m
join agent_definitions t on t.id = m.to_seat_id
left join agent_definitions f on f.id = m.from_seat_id
where m.session_id = $2 and m.to_seat_id is not null and m.to_seat_id = coalesce($3, m.to_seat_id)
    and m.seq < $4 and m.tenant_id = $1
order by m.seq desc
limit $5
