import { toast } from "./Toast";

/** Copies a text. Returns `false` if that is impossible, after a message with the reason. */
export async function copyText(text: string): Promise<boolean> {
  // Browsers offer the clipboard on secure pages only.
  if (!navigator.clipboard) {
    toast("Nothing is copied: the browser permits it only over HTTPS or on the server's own machine");
    return false;
  }
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    toast("The browser does not permit copying");
    return false;
  }
}
