/** Whether the page hears from the server, and whether a newer version of the page is served. */
import { useEffect, useState, useSyncExternalStore } from "react";
import { useFeedState } from "../live/client";
import { SILENCE_LIMIT_MS } from "../live/stream";
import { onReachChange, requestsFailSince } from "./reach";

export interface Connection {
  /** `false` while the page does not hear from the server: writes are disabled then. */
  online: boolean;
  /** The instant of the last sign of the server, in milliseconds since 1970. */
  heardAt: number | null;
}

/** Short breaks, as when the server ends a trace, are no loss. */
const GRACE_MS = 1_500;

export function useConnection(): Connection {
  const feed = useFeedState();
  const failedAt = useSyncExternalStore(onReachChange, requestsFailSince);
  const [graceOver, setGraceOver] = useState(false);
  const [silent, setSilent] = useState(false);
  const lost = feed.status === "lost" || failedAt !== null;
  useEffect(() => {
    setGraceOver(false);
    if (!lost) return;
    const timer = setTimeout(() => setGraceOver(true), GRACE_MS);
    return () => clearTimeout(timer);
  }, [lost]);
  useEffect(() => {
    // The worker itself may have died, so the tab watches the silence as well.
    setSilent(false);
    if (feed.heardAt === null) return;
    const timer = setTimeout(() => setSilent(true), feed.heardAt + SILENCE_LIMIT_MS + 2_000 - Date.now());
    return () => clearTimeout(timer);
  }, [feed.heardAt]);
  const quiet = silent && feed.status !== "forbidden" && feed.status !== "signed-out";
  return { online: !((lost && graceOver) || quiet), heardAt: feed.heardAt };
}

const CHECK_MS = 15 * 60_000;

/** Returns `true` once the server serves another version of the page than this tab runs. */
export function useNewerVersion(): boolean {
  const feed = useFeedState();
  const [newer, setNewer] = useState(false);
  const live = feed.status === "live";
  const [connected, setConnected] = useState(0);
  useEffect(() => {
    if (live) setConnected((times) => times + 1);
  }, [live]);
  useEffect(() => {
    const own = document.querySelector<HTMLMetaElement>('meta[name="page-version"]')?.content;
    if (!own || own.startsWith("MATINS_")) return;
    const check = async () => {
      const response = await fetch("/", { method: "HEAD", cache: "no-store" });
      const served = response.headers.get("ETag")?.replaceAll('"', "");
      if (response.ok && served && served !== own) setNewer(true);
    };
    const quietly = () => check().catch(() => undefined);
    // The first connection follows the load of the page at once.
    if (connected > 1) quietly();
    const timer = setInterval(quietly, CHECK_MS);
    return () => clearInterval(timer);
  }, [connected]);
  return newer;
}
