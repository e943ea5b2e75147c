import { expect, test } from "./fixtures";
import { sentBytes } from "./sent-bytes";

test("first_load_is_small", async ({ page, signIn }) => {
  await signIn(page);
  const files: string[] = [];
  page.on("response", (response) => {
    if (new URL(response.url()).pathname.startsWith("/assets/")) files.push(response.url());
  });
  await page.goto("/", { waitUntil: "load" });
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
  expect(files.length).toBeLessThanOrEqual(7);
  const bytes = await Promise.all(files.map(sentBytes));
  const sum = bytes.reduce((total, each) => total + each, 0);
  expect(sum, `${files.join(", ")}: ${bytes.join(", ")}`).toBeGreaterThan(50_000);
  expect(sum, `${files.join(", ")}: ${bytes.join(", ")}`).toBeLessThanOrEqual(220_000);
});

test("unknown_address_says_so_and_leads_back", async ({ page, signIn }) => {
  await signIn(page);
  const response = await page.goto("/nowhere/at-all");
  // The server in front of a built page answers each address with the page.
  if (process.env.MATINS_PAGE === undefined) expect(response?.status()).toBe(404);
  await expect(page.getByText("There is no page here.")).toBeVisible();
  await page.getByRole("link", { name: "Go to the overview" }).click();
  await expect(page).toHaveURL(/\/$/);
  await expect(page.getByText("There is no page here.")).toHaveCount(0);
});
