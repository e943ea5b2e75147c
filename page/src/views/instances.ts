/** The names of the instances on which people have placed automations and conversations. */
import { useInstances, usePermission } from "../api/queries";
import { visible } from "../kit/visible";

/** Names a removed instance if its name is unknown. */
export const REMOVED = "a removed instance";

/** Marks the name of an instance that was removed. */
export const removedText = (name: string): string => `${visible(name)}, removed`;

/** An automation or the seat of a conversation. */
interface Placed {
  placed_on?: string | null;
  removed_instance?: string | null;
}

/**
 * Returns the name of the instance on which something is placed, with a mark if that instance was removed. Returns null
 * if there is none, or if the instances cannot be read.
 */
export function usePlace(placed: Placed | undefined): string | null {
  const may = usePermission();
  const removed = placed?.removed_instance;
  const id = placed?.placed_on;
  const { data } = useInstances(removed == null && id != null && may("instances:read"));
  if (removed != null) return removedText(removed);
  const name = data?.items.find((instance) => instance.id === id)?.name;
  return name === undefined ? null : visible(name);
}

/** Returns the name of the instance of a run, with a remark if that instance was removed. */
export function useInstanceOfRun(name: string | null | undefined): string | null {
  const may = usePermission();
  const { data } = useInstances(name != null && may("instances:read"));
  if (name == null) return null;
  const isRemoved = data !== undefined && !data.items.some((instance) => instance.name === name);
  return isRemoved ? removedText(name) : visible(name);
}
