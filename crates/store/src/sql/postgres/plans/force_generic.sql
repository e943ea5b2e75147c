-- Makes the server reuse one plan for each of the next statements, whatever their parameters. Switches sequential and
-- bitmap scans off, because a plan that was made while a table was empty would otherwise read or sort the whole table
-- once it has grown.
select
    set_config('plan_cache_mode', 'force_generic_plan', true) as mode,
    set_config('enable_seqscan', 'off', true) as scan,
    set_config('enable_bitmapscan', 'off', true) as bitmap
