-- Answers a question that is pending before its deadline. An agent that waits in its turn must still run and not be
-- cancelled. Returns no row otherwise.
-- :tenant, :id, :now, :answer, :answered_by the person's name, :token the person's token or null, :input the input with
-- the answer or null
update questions
set state = 'answered', closed_at = :now, answer = :answer, answered_by = :answered_by, answered_by_token = :token, answer_input_id = :input
where id = :id and tenant_id = :tenant and state = 'pending' and deadline_at > :now
  and (kind = 'tool' or exists (select 1 from agent_runs r
    where r.id = questions.run_id and r.status = 'running' and r.cancel_requested_at is null))
returning id
