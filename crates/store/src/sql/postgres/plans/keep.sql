-- Has the server keep its plans of the next statements, whatever their parameters.
set local plan_cache_mode = force_generic_plan
