//! Checks names and keys that have the form of an ID. New ones are refused; older ones may be stored.

use store::{Automations, Page, Scope, Store};

use crate::{finding::Finding, formatting::format_count};

const CHECK: &str = "names";
/// The maximum number of findings. One name is enough to see the fault, and a list of thousands is no help.
const MAX_FINDINGS: usize = 20;
/// The number of tenants that are read at once.
const TENANTS_PAGE_SIZE: u32 = 500;

/// An object with a name in the form of an ID.
struct Misnamed {
    id: String,
    name: String,
    /// The name of the field, with the kind of the object.
    field: &'static str,
    remedy: String,
}

/// Returns a warning for each object whose name or key has the form of an ID, because that ID finds another object.
pub(crate) async fn check_names(
    store: &Store,
    automations: &Automations,
) -> Result<Vec<Finding>, store::Error> {
    let mut found = misnamed_automations(automations);
    for (id, key) in store.session_keys_in_id_form(Scope::System).await? {
        found.push(Misnamed {
            remedy: format!("use {id} instead; a key cannot be changed"),
            id: id.to_string(),
            name: key,
            field: "key of the session",
        });
    }
    for agent in store.agents(Scope::System).await? {
        found.push(Misnamed {
            remedy: "add the agent again under another name, and give it to the automations that use this one".into(),
            id: agent.id.to_string(),
            name: agent.name,
            field: "name of the agent",
        });
    }
    for endpoint in store.endpoints(Scope::System).await? {
        let id = endpoint.id.to_string();
        found.push(Misnamed {
            remedy: format!("rename it: `matins endpoint edit {id} --name NAME`"),
            id,
            name: endpoint.name,
            field: "name of the endpoint",
        });
    }
    for instance in store.instances(Scope::System).await? {
        found.push(Misnamed {
            remedy: format!("use {} instead, or rename its host", instance.id),
            id: instance.id.to_string(),
            name: instance.name,
            field: "name of the instance",
        });
    }
    found.extend(tenants(store).await?);
    found.retain(|object| model::has_id_form(&object.name));
    Ok(findings(&found))
}

fn misnamed_automations(automations: &Automations) -> Vec<Misnamed> {
    let readable = automations.readable.iter().map(|it| (it.id, &it.name));
    let corrupt = automations.corrupt.iter().map(|it| (it.id, &it.name));
    let of_automation = |(id, name): (model::AutomationId, &String)| Misnamed {
        id: id.to_string(),
        name: name.clone(),
        field: "name of the automation",
        remedy: format!("rename it: `matins automation edit {id} --name NAME`"),
    };
    readable.chain(corrupt).map(of_automation).collect()
}

async fn tenants(store: &Store) -> Result<Vec<Misnamed>, store::Error> {
    let mut found = Vec::new();
    let mut page = Page::first(TENANTS_PAGE_SIZE);
    loop {
        let tenants = store.tenants(Scope::System, page).await?;
        let is_last = tenants.len() < TENANTS_PAGE_SIZE as usize;
        page.after = tenants.last().map(|tenant| tenant.id);
        found.extend(tenants.into_iter().map(|tenant| Misnamed {
            remedy: format!("use {} instead; a tenant cannot be renamed", tenant.id),
            id: tenant.id.to_string(),
            name: tenant.name,
            field: "name of the tenant",
        }));
        if is_last {
            return Ok(found);
        }
    }
}

fn findings(misnamed: &[Misnamed]) -> Vec<Finding> {
    let mut findings: Vec<_> = misnamed
        .iter()
        .take(MAX_FINDINGS)
        .map(|object| {
            let Misnamed {
                id, name, field, ..
            } = object;
            let found = format!("the {field} {id} has the form of an ID: {name}");
            Finding::warning(CHECK, found, &object.remedy)
        })
        .collect();
    let more = misnamed.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        let found = format!(
            "{} in the form of an ID",
            format_count(more, "more name is", "more names are")
        );
        let remedy = "change those above, then run `matins doctor` again";
        findings.push(Finding::warning(CHECK, found, remedy));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, "none has the form of an ID"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Level;

    #[test]
    fn many_names_are_counted_and_not_listed() {
        let object = || Misnamed {
            id: "ses_1".into(),
            name: "aut_2".into(),
            field: "key of the session",
            remedy: "use ses_1".into(),
        };
        let all: Vec<_> = std::iter::repeat_with(object)
            .take(MAX_FINDINGS + 2)
            .collect();
        let found = findings(&all);
        assert_eq!(found.len(), MAX_FINDINGS + 1);
        let last = found.last().unwrap();
        assert_eq!(last.found, "2 more names are in the form of an ID");
        assert_eq!(findings(&all[..1])[0].remedy.as_deref(), Some("use ses_1"));
        assert_eq!(findings(&[])[0].level, Level::Ok);
    }
}
