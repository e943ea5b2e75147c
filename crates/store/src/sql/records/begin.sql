-- Inserts a run's internal record with the prompt that is sent.
-- :run, :tenant, :prompt_ref prompt reference, :prompt rendered prompt, :variables, :report_version version of the report
-- of runs or null, :report its text or null, :now
insert into run_records
    (run_id, tenant_id, prompt_ref, rendered_prompt, variables, run_report_version, run_report, diagnostics, created_at,
     updated_at)
values /* row */ (:run, :tenant, :prompt_ref, :prompt, :variables, :report_version, :report, '{}', :now, :now)
on conflict (run_id) do nothing
