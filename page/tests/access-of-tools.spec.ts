import { expectNoBarrier, SIZES } from "./barriers";
import { expect, test } from "./fixtures";
import { seedKept } from "./stack";

test.use({ stackName: "access-of-tools" });

let kept: Promise<{ session: string; run: string }> | undefined;

for (const size of SIZES) {
  test.describe(`${size.width}`, () => {
    test.use({ viewport: size });

    test("memory_and_artifacts_have_no_barrier", async ({ page, stack, signIn }) => {
      kept ??= seedKept(stack);
      const { session, run } = await kept;
      await signIn(page);
      const check = async (view: string) => {
        await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
        await expectNoBarrier(page, view);
      };
      await page.goto("/automations/build?tab=memory");
      await expect(page.getByRole("listitem").filter({ hasText: "owner" })).toBeVisible();
      await check("memory");
      await page.getByRole("button", { name: "Actions of build.last_failure" }).click();
      await page.getByRole("menuitem", { name: "Edit…" }).click();
      await expect(page.getByRole("dialog").getByLabel("Value")).toBeFocused();
      await check("edit");
      await page.getByLabel("Confidence").fill("7");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByText(/Invalid confidence/)).toBeVisible();
      await check("refused field");
      await page.goto("/automations/quiet?tab=memory");
      await expect(page.getByText(/^Nothing yet/)).toBeVisible();
      await check("empty memory");
      await page.goto("/automations/build?tab=artifacts");
      await page.getByRole("button", { name: "Details of report.md, version 1" }).click();
      await expect(page.getByText("SHA-256")).toBeVisible();
      await check("artifacts");
      await page.goto(`/runs/${run}`);
      await expect(page.getByRole("button", { name: "Download report.md, version 1" })).toBeVisible();
      await check("run");
      await page.goto(`/conversations/${session}/artifacts`);
      await expect(page.getByRole("button", { name: "Download offers.csv, version 2" })).toBeVisible();
      await check("artifacts of a conversation");
      await page.goto(`/conversations/${session}`);
      if (size.width < 640) await page.getByRole("button", { name: "Memory and details" }).click();
      const panel = page.getByRole("complementary", { name: "Details of the conversation" });
      await panel.getByText("1 older version").click();
      await expect(panel.getByText("favourite")).toBeVisible();
      await check("panel");
    });
  });
}
