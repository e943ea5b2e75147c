/** What the page says of instances. */
import type { Instance } from "../../api/types";

/** Says what waits for an instance, and why. Empty if nothing does. */
export function waitText(instance: Instance): string {
  const {
    kind,
    state,
    waiting_runs: runs,
    delivered_runs: delivered = 0,
    automations_too_new: tooNew,
  } = instance;
  const run = runs === 1 ? "1 run waits" : `${runs} runs wait`;
  const automation = tooNew === 1 ? "1 automation needs" : `${tooNew} automations need`;
  const files =
    delivered === 0
      ? ""
      : delivered === runs
        ? ", delivered as a file"
        : `, ${delivered} of them delivered as files`;
  const cause =
    state === "online"
      ? `for ${runs === 1 ? "its turn" : "their turns"} there`
      : kind === "directory"
        ? "until a runtime watches its folder again"
        : "until a server serves it again";
  return [runs > 0 && `${run} ${cause}${files}.`, tooNew > 0 && `${automation} a later version.`]
    .filter(Boolean)
    .join(" ");
}

/** Says what goes with an instance. */
export function lossText({ kind, waiting_runs: runs }: Instance): string {
  const lost = `The memories of agents in its ${kind === "directory" ? "" : "data "}folder count as lost`;
  const fails =
    runs === 0 ? lost : `${lost}, and ${runs === 1 ? "1 waiting run fails" : `${runs} waiting runs fail`}`;
  return `${fails}. Transcripts stay.`;
}

/** Returns a word of a command as a POSIX shell reads it back. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Returns the name of the file for the token of an instance's runtime, as `matins instance add` chooses it. */
export function tokenFileOf(name: string): string {
  return name.includes("/") || name.startsWith(".") || name.startsWith("-")
    ? "runtime.token"
    : `${name}.token`;
}

/** Returns the command that writes its input into a file which its owner alone can read. */
export const saveCommand = (instance: Instance): string =>
  `(umask 077; cat > ${shellWord(tokenFileOf(instance.name))})`;

/** Returns the command that starts the runtime of an instance. */
export function runtimeCommand(instance: Instance, server: string): string {
  const { hostname, protocol } = new URL(server);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  return [
    "matins",
    "runtime",
    "--folder",
    instance.runtime_folder ?? instance.folder ?? "FOLDER",
    "--server",
    server,
    "--token-file",
    tokenFileOf(instance.name),
    ...(protocol === "http:" && !isLocal ? ["--allow-http"] : []),
  ]
    .map(shellWord)
    .join(" ");
}
