-- Returns the prompts of runs whose turns a worker has begun with the same secrets, and that are not over.
-- Each row: $1 id, $2 hash of the run's secret. $3 worker
with item (id, secret_hash) as (values /* row */ ($1, $2))
select r.id, d.prompt_ref, d.rendered_prompt, d.variables, d.run_report_version, d.run_report, d.diagnostics, d.error
from item
join agent_runs r on r.id = item.id and r.secret_hash = item.secret_hash
join run_records d on d.run_id = r.id
where r.status = 'running' and r.worker_id = $3
