// Pictures of every screen in both orientations, for people to look at. They prove nothing by themselves, so they are
// skipped everywhere but in `WAYSIDE_SHOTS=folder npm run e2e`; access and flows test the same screens in `make test`.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { begin, LANDSCAPE, launch, open, PORTRAIT } from "./kiosk";
import { PIN } from "./mock";

const folder = process.env.WAYSIDE_SHOTS;
let browser: Browser;
const TEXT = "Achilles calls out four, and Ajax answers three. Exekias shows two warriors at rest, leaning towards the board.";
const CUT = TEXT.indexOf("Exekias");

describe.skipIf(!folder)("pictures", () => {
  beforeAll(async () => void (browser = await launch()));
  afterAll(() => browser.close());

  test.each([["portrait", PORTRAIT], ["landscape", LANDSCAPE]] as const)("%s", async (name, viewport) => {
    const kiosk = await open(browser, viewport);
    const { page, mock } = kiosk;
    const shot = (what: string) => page.screenshot({ path: `${folder}/${name}-${what}.png` });
    await page.waitForTimeout(2200);
    await shot("1-attract");
    await begin(kiosk);
    await shot("2-gallery");
    await page.locator(".cell").first().click();
    await page.waitForTimeout(900);
    await shot("3-exhibit");
    mock.send({ type: "transcript", turn_id: "t1", text: "What game are they playing?", final: true });
    mock.send({ type: "utterance", generation: 1, utterance_id: 1, text: TEXT, spans: [[0, CUT], [CUT, TEXT.length]], agent: "guide" });
    mock.send({ type: "sources", generation: 1, sources: [{ id: "s", title: "Vatican Museums, black-figure amphora by Exekias, inv. 16757" }] });
    mock.status({ speaking: true });
    mock.send({ type: "caption", generation: 1, utterance_id: 1, rendered_chars: CUT + 20, state: "speaking" });
    for (let i = 0; i < 12; i += 1) {
      mock.send({ type: "level", generation: 1, level: 0.12 + 0.1 * Math.sin(i) });
      await page.waitForTimeout(60);
    }
    await shot("4-speaking");
    mock.send({ type: "clear", generation: 1 });
    mock.status({ listening: true, hearing: true });
    mock.send({ type: "transcript", turn_id: "t2", text: "and who is winn", final: false });
    mock.send({ type: "notice", code: "not_understood", severity: "info" });
    await page.waitForTimeout(700);
    await shot("5-listening");
    mock.status({ degraded: ["audio.microphone_lost"] });
    await page.getByRole("button", { name: "Read, no sound" }).click();
    await page.waitForTimeout(400);
    await shot("5b-deaf-reading");
    await page.getByRole("button", { name: "Read, no sound" }).click();
    mock.status({ listening: true });
    await page.getByRole("button", { name: "Español" }).click();
    await page.getByRole("button", { name: "Escribir" }).click();
    await page.waitForTimeout(400);
    await shot("6-typing");
    await page.getByRole("button", { name: "Cerrar" }).click();
    await page.getByRole("button", { name: "Ajustes" }).click();
    await page.waitForTimeout(300);
    await shot("7-settings");
    await page.getByRole("button", { name: "Claro" }).click();
    await page.getByRole("button", { name: "Cerrar" }).click();
    await page.getByRole("button", { name: "English" }).click();
    await page.waitForTimeout(300);
    await shot("8-light");
    await page.getByRole("button", { name: /Settings/ }).click();
    await page.getByRole("switch", { name: "Controls low" }).click();
    await page.getByRole("button", { name: "Close" }).click();
    mock.send({ type: "countdown", ends_in_s: 20 });
    await page.waitForTimeout(300);
    await shot("8b-countdown-reach");
    mock.send({ type: "countdown", ends_in_s: null });
    for (let i = 0; i < 3; i += 1) {
      await page.getByRole("button", { name: /Settings/ }).click();
      await page.getByRole("button", { name: "Larger text" }).click();
      await page.getByRole("button", { name: "Close" }).click();
    }
    await page.waitForTimeout(400);
    await shot("9-large");
    mock.socketDown();
    await page.getByTestId("fallback").waitFor();
    await page.waitForTimeout(500);
    await shot("9b-fallback-large");
    await page.getByRole("button", { name: /Settings/ }).click();
    for (let i = 0; i < 3; i += 1) await page.getByRole("button", { name: "Smaller text" }).click();
    await page.getByRole("button", { name: "Dark", exact: true }).click();
    await page.getByRole("button", { name: "Close" }).click();
    await page.waitForTimeout(900);
    await shot("10-fallback");
    await page.keyboard.press("Control+Alt+Shift+S");
    await page.getByRole("button", { name: "Unlock" }).waitFor();
    await page.keyboard.type("12");
    await shot("11-pin");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.type(PIN);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("Restart the guide").waitFor();
    await page.waitForTimeout(300);
    await shot("12-staff");
    await kiosk.close();
  });
});
