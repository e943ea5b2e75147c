/** A PostgreSQL server of its own for a test, without a network port, as Debian's package installs it. */
import { execFile, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { written } from "./processes";

const run = promisify(execFile);
const PROGRAMS = ["postgres", "initdb", "psql"];
/** They trade durability for speed, because the data is temporary. A killed Matins loses nothing by them. */
const SETTINGS = ["listen_addresses=", "fsync=off", "full_page_writes=off", "synchronous_commit=off"];

export interface Postgresql {
  /** The address of an empty database, whose owner is bound to row-level security. */
  url: string;
  stop(): Promise<void>;
}

/** Returns the folder of PostgreSQL's programs: on the PATH, or the newest version that Debian has installed. */
function findPrograms(): string {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env.PATH ?? "").split(delimiter),
    ...versions.map((version) => join(debian, version, "bin")),
  ];
  // Follow links, because a folder of the PATH may have a link to one program alone.
  const found = folders
    .map((folder) => join(folder, "initdb"))
    .filter((program) => existsSync(program))
    .map((program) => dirname(realpathSync(program)))
    .find((folder) => PROGRAMS.every((name) => existsSync(join(folder, name))));
  if (found === undefined) throw new Error("PostgreSQL is missing: install it (Debian: postgresql)");
  return found;
}

/** Returns the user of the server; nothing if that is the present one. PostgreSQL refuses to run as root. */
function account(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const accounts = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = ["postgres", "nobody"]
    .map((name) => accounts.find(([each]) => each === name))
    .find((each) => each !== undefined);
  if (found === undefined) throw new Error("no user for PostgreSQL: neither `postgres` nor `nobody` exists");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

export async function startPostgresql(): Promise<Postgresql> {
  const programs = findPrograms();
  const user = account();
  const home = await mkdtemp(join(tmpdir(), "matins-page-pg-"));
  if (user.uid !== undefined && user.gid !== undefined) await chown(home, user.uid, user.gid);
  const data = join(home, "data");
  const options = { ...user, cwd: home };
  const program = (name: string) => join(programs, name);
  const layout = ["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-U", "postgres", "-D", data];
  await run(program("initdb"), layout, options);
  const settings = SETTINGS.flatMap((setting) => ["-c", setting]);
  const server = spawn(program("postgres"), ["-D", data, "-k", home, ...settings], options);
  await written(server, "ready to accept connections");
  const statements = ["create role matins login", "create database matins owner matins"];
  const commands = statements.flatMap((statement) => ["-c", statement]);
  await run(program("psql"), ["-h", home, "-U", "postgres", "-q", ...commands], options);
  return {
    url: `postgres://matins@localhost/matins?host=${home}`,
    stop: async () => {
      const ended = new Promise((done) => server.once("exit", done));
      // Ends at once, without a checkpoint.
      server.kill("SIGQUIT");
      await ended;
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
