import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  // Each has a server and a browser of its own. Two suit a machine of two cores, because both often wait.
  workers: 2,
  // The build server has one try for a change. The summary names a flaky test, which is mended next.
  retries: process.env.CI === "true" ? 1 : 0,
  timeout: 120_000,
  // A passing test waits for no limit. A machine that also compiles stops a page for ten seconds.
  expect: { timeout: 30_000 },
  reporter: "line",
  use: {
    browserName: "chromium",
    navigationTimeout: 30_000,
    actionTimeout: 30_000,
    viewport: { width: 1280, height: 800 },
    timezoneId: "Europe/Prague",
    locale: "en-GB",
    launchOptions: { executablePath: process.env.CHROMIUM },
  },
});
