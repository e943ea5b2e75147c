/** Reads the usage that agents report. An agent may report nothing, and then nothing is shown as zero. */
import { count, money } from "../../kit/format";

interface Reported {
  used?: unknown;
  size?: unknown;
  spent?: { tokens?: unknown; cost?: unknown } | null;
}

/** The server counts money in millionths. */
const MICRO = 1_000_000;

/** Returns the tokens and the cost of one run, such as `1.1k tokens · $0.01` or `usage not reported`. */
export function usageText(usage: unknown): string {
  const spent = (usage as Reported | null)?.spent;
  if (spent == null) return "usage not reported";
  const tokens =
    typeof spent.tokens === "number" && spent.tokens > 0 ? `${count(spent.tokens)} tokens` : null;
  const costs = Object.entries((spent.cost ?? {}) as Record<string, unknown>)
    .filter((entry): entry is [string, number] => typeof entry[1] === "number")
    .map(([currency, micro]) => money(micro / MICRO, currency));
  const cost = costs.length > 0 ? costs.join(" + ") : "cost not reported";
  return [tokens, cost].filter(Boolean).join(" · ");
}

export interface Context {
  used: number;
  size: number;
}

/** Returns how full the context of an agent is; null if the agent does not report it. */
export function contextOf(usage: unknown): Context | null {
  const { used, size } = (usage ?? {}) as Reported;
  return typeof used === "number" && typeof size === "number" && size > 0 ? { used, size } : null;
}
