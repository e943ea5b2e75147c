import { useState } from "react";
import { request } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { Approval, AutomationView, PermissionRule } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import css from "./approvals.module.css";
import { decide } from "./decision";
import { ruleText } from "./rules";

/** Reads the automation anew, so that the edit adds one rule to the present ones and loses none. */
async function addRule(id: string, rule: PermissionRule): Promise<AutomationView> {
  const { data, etag } = await request<AutomationView>("GET", `/automations/${id}`);
  const known = data.permissions.some(
    (each) => ruleText(each) === ruleText(rule) && each.verdict === rule.verdict,
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
  onClose(): void;
}) {
  const { approval, rule, comment, onClose } = props;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [shown] = useState(rule);
  const store = async () => {
    if (approval.automation_id === null) return;
    setBusy(true);
    setError(null);
    try {
      const automation = await addRule(approval.automation_id, shown);
      queryClient.invalidateQueries({ queryKey: keys.automations });
      await decide(approval.id, "allow", comment);
      toast(`${automation.name} may do this from now on`);
      onClose();
    } catch (problem) {
      setError(
        hasStatus(problem, 412)
          ? "Another person has changed the automation just now. Try again."
          : errorText(problem),
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Always allow this?"
      note="The automation gets one more rule. It holds for exactly these words, in each of its runs."
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button busy={busy} onClick={store}>
            Add the rule and allow
          </Button>
        </>
      }
    >
      <pre className={css.rule}>
        <ins>+ allow {ruleText(shown)}</ins>
      </pre>
      <p className={css.small}>A rule reads the agent’s own words and is no sandbox.</p>
      {error && (
        <p className={css.failure} role="alert">
          {error}
        </p>
      )}
    </Dialog>
  );
}
