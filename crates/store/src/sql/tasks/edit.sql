-- Changes the content of a task for a person.
-- :id, :title, :description, :acceptance, :priority, :plan_version, :digest, :now
update agent_tasks
set title = :title, description = :description, acceptance = :acceptance, priority = :priority, plan_version = :plan_version,
    digest = :digest, updated_at = :now
where id = :id
