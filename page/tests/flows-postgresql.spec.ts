import { expect, test } from "./fixtures";
import { testFlows } from "./flows";
import { call, converse } from "./stack";

test.use({ stackName: "flows-postgresql", database: "postgresql" });
testFlows();

test("server_without_a_content_names_the_instance_that_has_it", async ({ browser, stack }) => {
  const session = await converse(
    stack,
    "Handed in here",
    call("save_artifact", { name: "offers.csv", text: "offer,price\n", media_type: "text/csv" }),
  );
  const { items: instances } = await stack.api<{ items: { id: string; name: string }[] }>(
    "GET",
    "/instances",
  );
  const beside = await stack.startBeside("beside");
  try {
    const context = await browser.newContext({ baseURL: beside.url });
    const page = await context.newPage();
    await page.goto(await beside.signInPath());
    await page.waitForURL((url) => url.pathname !== "/sign-in");
    await page.goto(`/conversations/${session}/artifacts`);
    await page.getByRole("button", { name: "Download offers.csv, version 1" }).click();
    await expect(page.getByRole("alert")).toContainText(`is on the instance ${instances[0]?.name}`);
    await expect(page).toHaveURL(/\/artifacts$/);
    await context.close();
  } finally {
    await beside.stop();
  }
});
