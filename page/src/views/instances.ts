/** The names of the instances on which people have placed automations and conversations. */
import { useInstances, usePermission } from "../api/queries";

export const REMOVED = "a removed instance";

/**
 * Returns a function that names the instance of an ID: null if there is none, or if the instances cannot be read.
 * `isNeeded` says whether there is an ID, so that the instances are not read without need.
 */
export function useInstanceNames(isNeeded: boolean): (id: string | null | undefined) => string | null {
  const may = usePermission();
  const { data } = useInstances(isNeeded && may("instances:read"));
  return (id) => {
    if (id == null || data === undefined) return null;
    return data.items.find((instance) => instance.id === id)?.name ?? REMOVED;
  };
}

/** Returns the name of the instance of a run, with a remark if that instance was removed. */
export function useInstanceOfRun(name: string | null | undefined): string | null {
  const may = usePermission();
  const { data } = useInstances(name != null && may("instances:read"));
  if (name == null) return null;
  const isRemoved = data !== undefined && !data.items.some((instance) => instance.name === name);
  return isRemoved ? `${name}, removed` : name;
}
