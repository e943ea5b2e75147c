import { useState } from "react";
import { request } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { Approval, AutomationView, PermissionRule } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import css from "./approvals.module.css";
import { decide } from "./decision";
import { ruleText } from "./rules";

/** Reads the automation anew, so that the edit adds one rule to the present ones and loses none. */
async function addRule(id: string, rule: PermissionRule): Promise<AutomationView> {
  const { data, etag } = await request<AutomationView>("GET", `/automations/${id}`);
  const known = data.permissions.some(
    (each) => each.tool === rule.tool && each.title === rule.title && each.verdict === rule.verdict,
  );
  if (known) return data;
  const edited = await request<AutomationView>("PATCH", `/automations/${id}`, {
    body: { permissions: [...data.permissions, rule] },
    ...(etag === null ? {} : { ifMatch: etag }),
  });
  return edited.data;
}

/** Shows the rule that would be added, stores it, and allows the request. */
export function AlwaysAllow(props: {
  approval: Approval;
  rule: PermissionRule;
  comment: string;
  onDecided(): void;
  onClose(): void;
}) {
  const { approval, rule, comment, onDecided, onClose } = props;
  const [shown] = useState(rule);
  const store = async () => {
    if (approval.automation_id === null) return;
    const automation = await addRule(approval.automation_id, shown);
    queryClient.invalidateQueries({ queryKey: keys.automations });
    if (await decide(approval.id, "allow", comment)) onDecided();
    toast(`${automation.name} may do this from now on`);
  };
  return (
    <ActionDialog
      title="Always allow this?"
      note="The automation gets one more rule. It holds for exactly these words, in each of its runs."
      action="Add the rule and allow"
      kind="ordinary"
      dismiss="Cancel"
      act={store}
      onClose={onClose}
      renderFailure={(error) =>
        hasStatus(error, 412)
          ? "Another person has changed the automation just now. Try again."
          : errorText(error)
      }
    >
      <pre className={css.rule}>
        <ins>+ allow {ruleText(shown)}</ins>
      </pre>
      <p className={css.small}>A rule reads the agent’s own words and is no sandbox.</p>
    </ActionDialog>
  );
}
