-- Has the server keep its plans of this transaction's statements, whatever their parameters: to plan a claim, or
-- a look at what is due, takes longer than to do it, and the plan is always the same. On PostgreSQL alone.
set local plan_cache_mode = force_generic_plan
