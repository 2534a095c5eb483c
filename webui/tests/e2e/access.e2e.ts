// Staff's way in, and every screen under axe in both orientations and all themes.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axe, begin, LANDSCAPE, launch, open, PORTRAIT, until } from "./kiosk";
import { PIN } from "./mock";

let browser: Browser;
beforeAll(async () => void (browser = await launch()));
afterAll(() => browser.close());

test("staff enter by the hidden corner, and the PIN is not kept", async () => {
  const kiosk = await open(browser);
  const { page, mock } = kiosk;
  await begin(kiosk);
  await page.mouse.move(1060, 12);
  await page.mouse.down();
  await page.getByRole("button", { name: "Unlock" }).waitFor();
  await page.mouse.up();
  for (const digit of "1111") await page.getByRole("button", { name: digit, exact: true }).click();
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.getByText("Wrong PIN.", { exact: false }).waitFor();
  await page.waitForTimeout(1200);
  await page.keyboard.type(PIN);
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.getByText("Check the loudspeaker's cable.").waitFor();
  expect(await page.content()).not.toContain(PIN);
  await page.getByRole("button", { name: "Restart the guide" }).click();
  await until(() => mock.actions.some((one) => one.action === "restart" && one.value === "sidecar"));
  await page.getByRole("button", { name: "Leave the kiosk" }).click();
  await page.waitForTimeout(200);
  expect(mock.actions.some((one) => one.action === "leave")).toBe(false);
  await page.getByRole("button", { name: "Yes, leave" }).click();
  await until(() => mock.actions.some((one) => one.action === "leave"));
  await page.getByRole("button", { name: "Lock and close" }).click();

  expect(await page.locator("dialog").count()).toBe(0);
  expect(kiosk.faults).toEqual([]);
  await kiosk.close();
});

describe.each([["portrait", PORTRAIT], ["landscape", LANDSCAPE]] as const)("%s", (_name, viewport) => {
  test("every screen is clean under axe, and its targets are large enough", async () => {
    const kiosk = await open(browser, viewport);
    const { page, mock } = kiosk;
    // Contrast is measured on what stands still.
    const clean = async (where: string) => {
      await page.waitForTimeout(900);
      expect.soft(await axe(page), where).toEqual([]);
      const small = await page.evaluate(() =>
        [...document.querySelectorAll("button, input")]
          .filter((one) => one.getClientRects().length > 0)
          .map((one) => ({ box: one.getBoundingClientRect(), name: one.textContent }))
          .filter(({ box }) => box.width < 43.5 || box.height < 43.5)
          .map(({ box, name }) => `${name} ${box.width}×${box.height}`),
      );
      expect.soft(small, where).toEqual([]);
    };
    await clean("start");
    await begin(kiosk);
    await clean("gallery");
    await page.locator(".cell").first().click();
    mock.send({ type: "transcript", turn_id: "t", text: "Who made it?", final: true });
    mock.send({ type: "transcript", turn_id: "u", text: "and wh", final: false });
    mock.send({ type: "utterance", generation: 1, utterance_id: 1, text: "Exekias signed it as potter and as painter.", spans: [[0, 43]], agent: "guide" });
    mock.send({ type: "caption", generation: 1, utterance_id: 1, rendered_chars: 12, state: "speaking" });
    mock.send({ type: "sources", generation: 1, sources: [{ id: "s", title: "Beazley" }] });
    mock.send({ type: "notice", code: "not_heard", severity: "warning" });
    mock.status({ speaking: true, degraded: ["tts.failed"] });
    await clean("speaking");
    for (const panel of ["Type", "More", "Settings", "Conversation"]) {
      await page.getByRole("button", { name: new RegExp(panel) }).first().click();
      await clean(panel);
      await page.getByRole("button", { name: "Close" }).click();
    }
    for (const theme of ["Light", "High contrast"]) {
      await page.getByRole("button", { name: /Settings/ }).click();
      await page.getByRole("button", { name: theme }).click();
      await page.getByRole("button", { name: "Close" }).click();
      await clean(theme);
    }
    await page.getByRole("button", { name: /Settings/ }).click();
    for (let i = 0; i < 3; i += 1) await page.getByRole("button", { name: "Larger text" }).click();
    await page.getByRole("button", { name: "Close" }).click();
    await clean("200 %");
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    mock.send({ type: "countdown", ends_in_s: 20 });
    await clean("countdown");
    mock.send({ type: "countdown", ends_in_s: null });
    mock.socketDown();
    await page.getByTestId("fallback").waitFor();
    await clean("fallback");
    await page.keyboard.press("Control+Alt+Shift+S");
    await page.getByRole("button", { name: "Unlock" }).waitFor();
    await clean("pin");
    expect(kiosk.faults).toEqual([]);
    await kiosk.close();
  }, 90_000);
});
