-- Notes that the agent of a run has listed the tools of Matins.
-- $1 run
update agent_runs set listed_tools = true where id = $1 and not listed_tools
