import { expect, test } from "./fixtures";

test("first_load_is_small", async ({ page, stack }) => {
  test.skip(process.env.MATINS_PAGE !== undefined, "only the server compresses the files");
  await page.goto(await stack.signInPath());
  await page.waitForURL((url) => url.pathname !== "/sign-in");
  const files: { url: string; bytes: number }[] = [];
  let requests = 0;
  page.on("response", async (response) => {
    const url = new URL(response.url());
    if (url.pathname.startsWith("/api/v1/trace")) return;
    requests += 1;
    if (!url.pathname.startsWith("/assets/")) return;
    const headers = await response.allHeaders();
    files.push({ url: url.pathname, bytes: Number(headers["content-length"]) });
  });
  await page.goto("/", { waitUntil: "load" });
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
  const scripts = files.reduce((sum, file) => sum + file.bytes, 0);
  expect(scripts, JSON.stringify(files)).toBeGreaterThan(50_000);
  expect(scripts, JSON.stringify(files)).toBeLessThanOrEqual(220_000);
  // Files and requests of the API together, without the one stream that stays open.
  console.log(`first load: ${requests} requests, ${scripts} bytes of scripts and styles`);
});
