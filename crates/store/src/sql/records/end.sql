-- Completes a run's internal record. Inserts one for a run that never began.
-- $1 run, $2 tenant, $3 diagnostics, $4 error or null, $5 now
insert into run_records (run_id, tenant_id, variables, diagnostics, error, created_at, updated_at)
values /* row */ ($1, $2, '{}', $3, $4, $5, $5)
on conflict (run_id) do update
set diagnostics = excluded.diagnostics, error = excluded.error, updated_at = excluded.updated_at
