//! The built-in rule for the tools of Matins, as text.

use model::tools::ToolAccess;

use crate::output::one_line;

/// Formats the tools that an agent gets, and the titles of its requests that the built-in rule allows.
pub(crate) fn format_own_tools(tools: ToolAccess, titles: &[String]) -> String {
    if tools == ToolAccess::None || titles.is_empty() {
        return tools.to_string();
    }
    let titles: Vec<_> = titles
        .iter()
        .map(|title| format!("`{}`", one_line(title)))
        .collect();
    format!(
        "{tools}; requests with the title {} are allowed, unless a rule denies them",
        titles.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_names_its_titles_and_that_denials_outweigh_it() {
        let titles = [
            "mcp__matins__{tool}".to_owned(),
            "matins: {tool}".to_owned(),
        ];
        assert_eq!(
            format_own_tools(ToolAccess::All, &titles),
            "all; requests with the title `mcp__matins__{tool}` or `matins: {tool}` are allowed, unless a rule denies them"
        );
        assert_eq!(format_own_tools(ToolAccess::Read, &[]), "read");
        assert_eq!(format_own_tools(ToolAccess::None, &titles), "none");
    }
}
