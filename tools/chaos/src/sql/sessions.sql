-- Every session with the last number of its log.
select 'ses_' || replace(id::text, '-', '') as id, last_seq
from automation.agent_sessions
order by id
