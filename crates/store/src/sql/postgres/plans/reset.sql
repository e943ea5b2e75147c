-- Restores the planner's settings for the next statements. A null value restores the connection's setting.
select
    set_config('plan_cache_mode', null, true) as mode,
    set_config('enable_seqscan', null, true) as scan,
    set_config('enable_bitmapscan', null, true) as bitmap
