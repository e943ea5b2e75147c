-- Removes text that runs left behind which are over: the transcript has what they said.
-- $1 oldest end that stays, $2 runs at the most
delete from run_live where run_id in (
    select distinct l.run_id
    from run_live l
    join agent_runs r on r.id = l.run_id
    where r.ended_at < $1
    limit $2
)
