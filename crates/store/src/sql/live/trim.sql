-- Removes the live texts of finished runs, because the transcript has them.
-- $1 oldest end that stays, $2 limit of examined pieces
delete from run_live where run_id in (
    select l.run_id
    from run_live l
    where (select r.ended_at from agent_runs r where r.id = l.run_id) < $1
    limit $2
)
