// Drains no-op jobs with another job queue: `node peers.js <peer> --url ... --jobs N --settings default|tuned`.
//
// Queues the jobs (not timed), vacuums the tables and writes a checkpoint, drains the jobs, and counts the completed
// jobs in the database. Prints one line of JSON.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { PgBoss } from "pg-boss";

/** The interval of the counts in the database, once every job has been handled, in ms. */
const POLL_INTERVAL_MS = 5;
/** The maximum number of jobs that one request queues. */
const MAX_BATCH = 5000;
const PAYLOAD = { text: "What is due today?" };

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

/** Returns the sizes of the batches in which the jobs are queued. */
function batchSizes() {
  return Array.from({ length: Math.ceil(jobs / MAX_BATCH) }, (_, index) =>
    Math.min(MAX_BATCH, jobs - index * MAX_BATCH),
  );
}

/** Vacuums the tables and writes a checkpoint, so that each drain starts in the same state. */
async function vacuumAndCheckpoint() {
  await pool.query("vacuum analyze");
  await pool.query("checkpoint");
}

async function count(statement) {
  const { rows } = await pool.query(statement);
  return Number(rows[0].count);
}

/**
 * Waits until all jobs are completed in the database, or until the limit. Counts in the database only after every job
 * was handled, so that the counts do not slow the drain down.
 */
async function waitForCompletion(handled, completed) {
  const started = performance.now();
  for (;;) {
    const duration = performance.now() - started;
    const isLate = duration > limit;
    if (isLate || handled.count >= jobs) {
      const done = await completed();
      if (isLate || done === jobs) return { jobs: done, seconds: duration / 1000 };
    }
    await sleep(POLL_INTERVAL_MS);
  }
}

/**
 * The tuned settings are those of its page about performance: 24 concurrent jobs, a local queue of 500, completions in
 * batches. One process runs here, while that page uses four on a machine with many cores.
 */
async function graphileWorker() {
  const utils = await makeWorkerUtils({ pgPool: pool });
  await utils.migrate();
  for (const size of batchSizes()) {
    await utils.addJobs(Array.from({ length: size }, () => ({ identifier: "no_op", payload: PAYLOAD })));
  }
  await vacuumAndCheckpoint();
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
  const drained = await waitForCompletion(handled, async () => jobs - (await count(left)));
  await runner.stop();
  return { settings, ...drained };
}

/** The tuned settings: batches of 1000 by two workers, which fetch again at once while the batches are full. */
async function pgBoss() {
  const boss = new PgBoss({ connectionString: values.url });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue("no_op");
  for (const size of batchSizes()) {
    await boss.insert(
      "no_op",
      Array.from({ length: size }, () => ({ data: PAYLOAD })),
    );
  }
  await vacuumAndCheckpoint();
  const settings = tuned
    ? { batchSize: 1000, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, localConcurrency: 2 }
    : {};
  const handled = { count: 0 };
  // Start the clock before the first fetch.
  const waiting = waitForCompletion(handled, () =>
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
if (!drain) throw new Error(`invalid peer \`${peer}\`: use one of ${Object.keys(peers).join(", ")}`);
const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const drained = await drain();
console.log(JSON.stringify({ peer, version: dependencies[peer], ...drained }));
// End here, because the queues leave timers and connections open that would keep the process alive.
process.exit(0);
