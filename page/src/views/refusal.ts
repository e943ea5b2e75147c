import { usePermission } from "../api/queries";
import type { Permission } from "../api/types";
import { useConnection } from "../shell/connection";

/** Returns a function that says why an action is not possible now; null if it is. */
export function useRefusal(): (permission: Permission) => string | null {
  const may = usePermission();
  const { online } = useConnection();
  return (permission) => {
    if (!online) return "There is no connection";
    return may(permission) ? null : `Your role does not permit this: it needs ${permission}`;
  };
}
