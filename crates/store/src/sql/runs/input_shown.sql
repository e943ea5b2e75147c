-- Says whether an earlier attempt has written the input into the transcript.
-- $1 input
select exists (
    select 1 from agent_messages m join agent_runs r on r.id = m.run_id
    where r.input_id = $1 and m.role = 'user'
) as shown
