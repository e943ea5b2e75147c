// Other job queues that drain no-op jobs: `node peers.js <peer> --url ... --jobs N --settings default|tuned`.
//
// Queues the jobs (not timed), looks at the tables and writes them down, drains, and counts in the
// database what is completed. Prints one line of JSON.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { PgBoss } from "pg-boss";

/** How often the database is asked, once every job has been handled, in ms. */
const LOOK = 5;
/** How many jobs one request queues. */
const BATCH = 5000;
const WORDS = { words: "What is due today?" };

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: "string" },
    jobs: { type: "string" },
    settings: { type: "string" },
    limit: { type: "string", default: "60" },
  },
});
const [peer] = positionals;
const jobs = Number(values.jobs);
const limit = Number(values.limit) * 1000;
const tuned = values.settings === "tuned";
const pool = new pg.Pool({ connectionString: values.url, max: 1 });

function batches() {
  return Array.from({ length: Math.ceil(jobs / BATCH) }, (_, at) => Math.min(BATCH, jobs - at * BATCH));
}

async function settle() {
  await pool.query("vacuum analyze");
  await pool.query("checkpoint");
}

async function count(statement) {
  const { rows } = await pool.query(statement);
  return Number(rows[0].count);
}

/**
 * Waits until all jobs are completed in the database, or time is up. The database is asked only when
 * every job was handled, so that asking costs no jobs.
 */
async function wait(handled, completed) {
  const started = performance.now();
  for (;;) {
    const took = performance.now() - started;
    const late = took > limit;
    if (late || handled.count >= jobs) {
      const done = await completed();
      if (late || done === jobs) return { jobs: done, seconds: took / 1000 };
    }
    await sleep(LOOK);
  }
}

/**
 * Tuned as its page about performance is: 24 at once, a local queue of 500, completions gathered. In one
 * process, where that page has four on a machine of many cores.
 */
async function graphileWorker() {
  const utils = await makeWorkerUtils({ pgPool: pool });
  await utils.migrate();
  for (const size of batches()) {
    await utils.addJobs(Array.from({ length: size }, () => ({ identifier: "no_op", payload: WORDS })));
  }
  await settle();
  const settings = tuned
    ? {
        concurrentJobs: 24,
        maxPoolSize: 25,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      }
    : {};
  const handled = { count: 0 };
  const runner = await run({
    preset: {
      worker: { connectionString: values.url, logger: new Logger(() => () => {}), ...settings },
    },
    noHandleSignals: true,
    taskList: {
      no_op: () => {
        handled.count += 1;
      },
    },
  });
  const left = "select count(*) from graphile_worker._private_jobs";
  const drained = await wait(handled, async () => jobs - (await count(left)));
  await runner.stop();
  return { settings, ...drained };
}

/** Tuned by its own switches: batches of 1000, fetched on while they are full, by two workers. */
async function pgBoss() {
  const boss = new PgBoss({ connectionString: values.url });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue("no_op");
  for (const size of batches()) {
    await boss.insert(
      "no_op",
      Array.from({ length: size }, () => ({ data: WORDS })),
    );
  }
  await settle();
  const settings = tuned
    ? { batchSize: 1000, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, localConcurrency: 2 }
    : {};
  const handled = { count: 0 };
  // The time begins before its first fetch.
  const waiting = wait(handled, () =>
    count("select count(*) from pgboss.job where name = 'no_op' and state = 'completed'"),
  );
  await boss.work("no_op", settings, async (batch) => {
    handled.count += batch.length;
  });
  const drained = await waiting;
  await boss.stop({ graceful: false });
  return { settings, ...drained };
}

const peers = { "graphile-worker": graphileWorker, "pg-boss": pgBoss };
const drain = peers[peer];
if (!drain) throw new Error(`${peer} is none of ${Object.keys(peers).join(", ")}`);
const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const drained = await drain();
console.log(JSON.stringify({ peer, version: dependencies[peer], ...drained }));
// What they leave open does not matter any more.
process.exit(0);
