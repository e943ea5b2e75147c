-- Records that the directory of a run is not on an instance. Keeps an earlier refusal, so that the wait is counted from
-- there.
-- $1 run, $2 tenant, $3 instance, $4 now
insert into directory_refusals (run_id, tenant_id, instance_id, refused_at)
values ($1, $2, $3, $4)
on conflict (run_id, instance_id) do nothing
