/** Actions on runs that several views offer. */
import { post } from "../api/client";
import { postKeyed } from "../api/keyed";
import { hasStatus } from "../api/problem";
import { keys, queryClient } from "../api/queries";
import type { Run } from "../api/types";
import { errorText } from "../kit/ErrorState";
import { lookOfRun, wordOf } from "../kit/Status";
import { toast } from "../kit/Toast";

export function refetchRuns(): void {
  for (const key of [keys.runs, keys.overview, keys.timeline, keys.automations]) {
    queryClient.invalidateQueries({ queryKey: key });
  }
}

function report(error: unknown): void {
  // Another person may have been faster: the list shows the new state.
  if (hasStatus(error, 409)) refetchRuns();
  toast(errorText(error));
}

/** Takes another attempt at the input of a run. Returns the new run; null if the server refused. */
export async function retryRun(id: string, name: string): Promise<Run | null> {
  try {
    const { data: run } = await postKeyed<Run>(`/runs/${id}/retry`);
    toast(`${name}: ${wordOf(lookOfRun(run))} again`);
    refetchRuns();
    return run;
  } catch (error) {
    report(error);
    return null;
  }
}

export async function cancelRun(id: string, name: string): Promise<void> {
  try {
    const { status } = await post<{ status: Run["status"] }>(`/runs/${id}/cancel`);
    toast(status === "cancelled" ? `${name}: cancelled` : `${name}: the agent is asked to stop`);
    refetchRuns();
  } catch (error) {
    report(error);
  }
}
