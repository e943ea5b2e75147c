import { apiPath, send } from "../../api/client";
import { saveFrom } from "../save";

/**
 * Lets the browser save the content of an artifact.
 *
 * Throws `ApiProblem` if the server refuses it, for example because another instance has the content. A link alone would
 * save the problem as a file, so the page asks first, and stops reading once the answer has begun.
 */
export async function download(id: string): Promise<void> {
  const path = `/artifacts/${id}/content`;
  const stop = new AbortController();
  await send("GET", path, { signal: stop.signal });
  stop.abort();
  saveFrom(apiPath(path));
}
