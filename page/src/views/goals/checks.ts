/** How the checks of a task ended. The API has the end and the last lines of each as one text. */
import type { TaskDetails } from "../../api/types";
import type { Look } from "../../kit/Status";

export interface Check {
  name: string;
  look: Look;
  /** The end, such as `passed` or `exit code 1`. */
  end: string;
  /** Empty without output. */
  lastLines: string;
}

interface Checks {
  checks: Check[];
  /** The texts that belong to no check of the task, such as the reason for which none could run. */
  others: string[];
}

/** Returns the checks of a task in their order. After one that does not pass, Matins runs no further one. */
export function checksOf(task: Pick<TaskDetails, "checks" | "check_output">): Checks {
  // A server of an early version sends no output.
  const others = [...(task.check_output ?? [])];
  const checks = task.checks.map((name): Check => {
    const index = others.findIndex((text) => text.startsWith(`${name}: `));
    if (index < 0) return { name, look: "queued", end: "has not run", lastLines: "" };
    const [text = ""] = others.splice(index, 1);
    const [end = "", ...lines] = text.slice(`${name}: `.length).split("\n");
    return { name, look: lookOfEnd(end), end, lastLines: lines.join("\n") };
  });
  return { checks, others };
}

/** A command that ended by itself has passed or failed. The check is broken otherwise, such as one beyond its time. */
function lookOfEnd(end: string): Look {
  if (end === "passed") return "succeeded";
  return /^(exit code|signal) -?\d+$/.test(end) ? "failed" : "missed";
}
