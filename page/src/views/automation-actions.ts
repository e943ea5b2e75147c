/** Actions on automations that several views offer. Reversible ones happen at once and can be undone. */
import { post } from "../api/client";
import { postKeyed } from "../api/keyed";
import { hasStatus } from "../api/problem";
import { keys, queryClient } from "../api/queries";
import type { Automation, Run } from "../api/types";
import { errorText, sentence } from "../kit/ErrorState";
import { lookOfRun, wordOf } from "../kit/Status";
import { toast } from "../kit/Toast";
import { addressOfAutomation } from "./addresses";

type Named = Pick<Automation, "id" | "name">;

function refetch(): void {
  queryClient.invalidateQueries({ queryKey: keys.automations });
  queryClient.invalidateQueries({ queryKey: keys.runs });
}

async function move(automation: Named, action: "pause" | "resume"): Promise<void> {
  await post(`/automations/${automation.id}/${action}`);
  refetch();
}

function report(error: unknown): void {
  // Another person may have been faster: the list shows the new state.
  if (hasStatus(error, 409)) refetch();
  toast(errorText(error));
}

export async function pauseAutomation(automation: Named): Promise<void> {
  try {
    await move(automation, "pause");
    toast(`${automation.name} is paused`, () => move(automation, "resume"));
  } catch (error) {
    report(error);
  }
}

export async function resumeAutomation(automation: Named): Promise<void> {
  try {
    await move(automation, "resume");
    toast(`${automation.name} is resumed`, () => move(automation, "pause"));
  } catch (error) {
    report(error);
  }
}

/** Whether an agent has made an automation that waits for a person to accept it. */
export const isProposed = (automation: Pick<Automation, "pause_reason">): boolean =>
  automation.pause_reason === "proposed";

/** Returns the address of the budget that has paused an automation; null if no budget has. */
export function addressOfReachedBudget(
  automation: Pick<Automation, "name" | "pause_reason" | "attention">,
): string | null {
  if (automation.pause_reason !== "budget") return null;
  // Only the sentence says whose budget it is.
  return /\btenant's budget\b/.test(automation.attention ?? "")
    ? "/settings/tenants"
    : `${addressOfAutomation(automation.name)}/edit?open=limits`;
}

/**
 * Runs an automation now and reports whether the run was queued or skipped. If this is the outcome of an earlier click,
 * whose response was lost, says so, because the person may mean another run.
 */
export async function fireAutomation(automation: Named): Promise<Run | null> {
  try {
    const { data: run, isReplay } = await postKeyed<Run>(`/automations/${automation.id}/fire`);
    refetch();
    const reason = run.message ?? run.reason;
    if (isReplay) {
      const before =
        run.status === "skipped" ? ["was skipped before.", sentence(reason)] : ["was run before."];
      toast([automation.name, ...before, "To run it again, click once more."].join(" "));
      return run;
    }
    toast(`${automation.name}: ${wordOf(lookOfRun(run))}${reason ? `. ${sentence(reason)}` : ""}`);
    return run;
  } catch (error) {
    report(error);
    return null;
  }
}
