-- Returns a run's internal record.
-- $1 tenant or null, $2 run
select prompt_ref, rendered_prompt, variables, run_report_version, run_report, diagnostics, error
from run_records
where run_id = $2 and ($1 is null or tenant_id = $1)
