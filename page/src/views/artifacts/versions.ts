/** Artifacts as the page lists them. */
import type { Artifact } from "../../api/types";

/** All versions of one name of a session. */
export interface ArtifactVersions {
  newest: Artifact;
  /** The versions before, the newest first. */
  older: Artifact[];
}

/**
 * Folds the versions of each name of a session under the newest one. The name with the newest version comes first. `only` is
 * the name of one of them; an empty one stands for all.
 */
export function versionsOf(artifacts: readonly Artifact[], only = ""): ArtifactVersions[] {
  const named = artifacts.filter(({ name }) => only === "" || name === only);
  const newestFirst = named.sort(
    (a, b) => b.created_at.localeCompare(a.created_at) || b.version - a.version || b.id.localeCompare(a.id),
  );
  const groups = new Map<string, ArtifactVersions>();
  for (const artifact of newestFirst) {
    const name = JSON.stringify([artifact.session_id, artifact.name]);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { newest: artifact, older: [] });
    else group.older.push(artifact);
  }
  return [...groups.values()];
}

const UNITS = ["kB", "MB", "GB"];

/** Returns a size for people, such as `12.4 kB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  let size = bytes;
  for (const unit of UNITS) {
    size /= 1000;
    // 999.95 would be written as 1000.0.
    if (size < 999.95 || unit === UNITS.at(-1)) return `${size.toFixed(1).replace(/\.0$/, "")} ${unit}`;
  }
  return "";
}

/** Returns a media type without its parameters. */
export const baseType = (mediaType: string): string => mediaType.replace(/\s*;.*$/, "");

/** Returns the host of an address that the page offers to open; null for all but `http` and `https`. */
export function hostOfLink(address: string): string | null {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.host : null;
  } catch {
    return null;
  }
}
