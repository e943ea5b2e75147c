-- Lists automations of agents whose lifetime has ended and that wait for nobody: no trigger of them fires again, or no
-- person has accepted them.
-- $1 now, $2 reason of a pause that waits to be accepted, $3 limit, $4 one automation, or null for all
select a.id
from automations a
where ($4 is null or a.id = $4) and a.expires_at <= $1 and a.deleted_at is null and a.made_by_session_id is not null and (
    a.pause_reason = $2 or not exists (
        select 1
        from automation_triggers t
        where t.automation_id = a.id and t.kind <> 'manual' and t.done_at is null and t.deleted_at is null
            and (t.kind = 'webhook' or t.next_fire_at is not null or a.paused_at is not null)
    )
)
order by a.id
limit $3
