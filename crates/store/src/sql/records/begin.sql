-- Inserts a run's internal record with the prompt that is sent.
-- $1 run, $2 tenant, $3 prompt reference, $4 rendered prompt, $5 variables, $6 now
insert into run_records
    (run_id, tenant_id, prompt_ref, rendered_prompt, variables, diagnostics, created_at, updated_at)
values /* row */ ($1, $2, $3, $4, $5, '{}', $6, $6)
on conflict (run_id) do nothing
