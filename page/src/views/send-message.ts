import { request } from "../api/client";
import { toast } from "../kit/Toast";

/**
 * Sends a message of a person. If the server had the message already, says so, because the person may not mean the lost
 * message but another one with the same text.
 */
export async function sendMessage(path: string, body: object, idempotencyKey: string): Promise<void> {
  const { isReplay } = await request("POST", path, { body, idempotencyKey });
  if (isReplay) toast("This message was sent before. To say it again, send it once more.");
}
