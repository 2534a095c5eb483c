// Two who can be asked: choosing between them, telling their words apart, and nothing of it where there is one.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axe, begin, LANDSCAPE, launch, open, PORTRAIT, until, type Kiosk } from "./kiosk";
import { AGENTS, CHOICES } from "./mock";

const folder = process.env.WAYSIDE_SHOTS;
const SAID = "The black is neither paint nor glaze. It is a slip, the same red clay.";
const CUT = SAID.indexOf("It is");
const IMAGINED = "Imagined for this performance; no ancient text says so";
let browser: Browser;
beforeAll(async () => void (browser = await launch()));
afterAll(() => browser.close());

const together = (viewport = PORTRAIT) => open(browser, viewport, (mock) => void (mock.agents = AGENTS));

function say({ mock }: Kiosk, generation: number, agent: string, rendered = SAID.length) {
  mock.send({ type: "utterance", generation, utterance_id: 1, text: SAID, spans: [[0, CUT], [CUT, SAID.length]], agent });
  mock.send({ type: "caption", generation, utterance_id: 1, rendered_chars: rendered, state: rendered < SAID.length ? "speaking" : "finished" });
}

test("a touch asks the other one, and says so", async () => {
  const kiosk = await together();
  const { page, mock } = kiosk;
  await begin(kiosk);
  const exekias = page.locator(".agent", { hasText: "Exekias" });
  expect(await exekias.getAttribute("aria-pressed")).toBe("false");
  await exekias.click();
  await page.getByText("You can ask Exekias").waitFor();

  expect(mock.of("address").map((one) => one.agent)).toEqual(["exekias"]);
  expect(await exekias.getAttribute("aria-pressed")).toBe("true");
  expect(await page.locator(".agent").first().getAttribute("aria-pressed")).toBe("false");
  expect(await page.getByTestId("company").getByRole("status").textContent()).toBe("You are speaking with: Exekias");
  expect(kiosk.faults).toEqual([]);
  await kiosk.close();
});

test("keys do the same, in the visitor's language", async () => {
  const kiosk = await together();
  const { page, mock } = kiosk;
  await begin(kiosk);
  await page.getByRole("button", { name: "Español" }).click();
  const exequias = page.locator(".agent", { hasText: "Exequias" });
  await exequias.focus();
  await page.keyboard.press("Enter");
  await until(() => mock.of("address").length === 1);
  await page.getByText("Puede preguntarle a Exequias").waitFor();

  expect(await exequias.getAttribute("aria-pressed")).toBe("true");
  await kiosk.close();
});

test("the transcript names who spoke and tells the character's words apart", async () => {
  const kiosk = await together();
  const { page, mock } = kiosk;
  await begin(kiosk);
  say(kiosk, 1, "guide");
  mock.send({ type: "transcript", turn_id: "t1", text: "Exekias, how do you make the black?", final: true });
  mock.send({ type: "focus", agent: "exekias" });
  say(kiosk, 2, "exekias");
  mock.send({ type: "sources", generation: 2, sources: [{ id: "imagined", title: IMAGINED }, { id: "n", title: "Noble" }] });
  const lines = page.getByTestId("transcript").locator("li");
  await lines.nth(2).waitFor();
  const font = (index: number) => lines.nth(index).locator("p").first().evaluate((one) => getComputedStyle(one).fontFamily.split(",")[0]);

  expect(await lines.locator(".who").allTextContents()).toEqual(["The guide", "You", "Exekias"]);
  expect([await font(0), await font(2)]).toEqual(['"Atkinson Hyperlegible"', "Fraunces"]);
  expect(await page.getByTestId("captions").locator(".speaker").textContent()).toBe("Exekias");
  expect(await page.getByTestId("captions").locator(".imagined").textContent()).toBe(IMAGINED);
  await kiosk.close();
});

test("where there is one, nothing of it is shown", async () => {
  const kiosk = await open(browser, PORTRAIT, (mock) => void (mock.agents = AGENTS.slice(0, 1)));
  const { page } = kiosk;
  await begin(kiosk);
  say(kiosk, 1, "guide");
  await page.getByTestId("transcript").locator("li").first().waitFor();

  expect(await page.getByTestId("company").count()).toBe(0);
  expect(await page.getByTestId("transcript").locator(".who").allTextContents()).toEqual(["Guide"]);
  expect(await page.locator(".speaker").count()).toBe(0);
  await kiosk.close();
});

test("an answer that a restart broke off can be gone on with, before all questions", async () => {
  const kiosk = await together();
  const { page, mock } = kiosk;
  await begin(kiosk);
  mock.send({ type: "choices", choices: [...CHOICES.en, { id: "continue:1", text: "Go on with the answer", kind: "continue" }] });
  await page.getByRole("button", { name: "Go on with the answer" }).waitFor();
  expect(await page.locator(".choice").allTextContents()).toEqual(["Go on with the answer", ...CHOICES.en.slice(0, 2).map((one) => one.text)].map((one) => expect.stringContaining(one) as unknown as string));
  await page.locator(".go-on").click();
  await until(() => mock.of("choose").length === 1);

  expect(mock.of("choose")[0]?.choice_id).toBe("continue:1");
  await kiosk.close();
});

describe.each([["portrait", PORTRAIT], ["landscape", LANDSCAPE]] as const)("%s", (name, viewport) => {
  test("two are clean under axe, large enough and on the screen, in every theme and size", async () => {
    const kiosk = await together(viewport);
    const { page, mock } = kiosk;
    const clean = async (where: string) => {
      await page.waitForTimeout(900);
      if (folder) await page.screenshot({ path: `${folder}/company-${name}-${where}.png` });
      expect.soft(await axe(page), where).toEqual([]);
      const boxes = await page.locator(".agent").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
      expect.soft(boxes.length, where).toBe(2);
      for (const box of boxes) {
        expect.soft(box.width, where).toBeGreaterThanOrEqual(44);
        expect.soft(box.height, where).toBeGreaterThanOrEqual(44);
        expect.soft(box.top >= 0 && box.bottom <= viewport.height && box.left >= 0 && box.right <= viewport.width, where).toBe(true);
      }
    };
    await begin(kiosk);
    await clean("1-gallery");
    await page.locator(".cell").first().click();
    await page.locator(".agent", { hasText: "Exekias" }).click();
    mock.send({ type: "transcript", turn_id: "t0", text: "Who made it?", final: true });
    say(kiosk, 1, "guide");
    mock.send({ type: "transcript", turn_id: "t1", text: "Exekias, how do you make the black?", final: true });
    say(kiosk, 2, "exekias", 20);
    mock.status({ speaking: true });
    mock.send({ type: "sources", generation: 2, sources: [{ id: "imagined", title: IMAGINED }, { id: "n", title: "Joseph Veach Noble, The Techniques of Painted Attic Pottery" }] });
    await clean("2-speaking");
    mock.send({ type: "choices", choices: [...CHOICES.en, { id: "continue:1", text: "Go on with the answer", kind: "continue" }] });
    await clean("3-go-on");
    for (const theme of ["Light", "High contrast"]) {
      await page.getByRole("button", { name: /Settings/ }).click();
      await page.getByRole("button", { name: theme }).click();
      await page.getByRole("button", { name: "Close" }).click();
      await clean(`4-${theme}`);
    }
    await page.getByRole("button", { name: "Conversation" }).click();
    await clean("5-conversation");
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: /Settings/ }).click();
    for (let i = 0; i < 3; i += 1) await page.getByRole("button", { name: "Larger text" }).click();
    await page.getByRole("button", { name: "Close" }).click();
    await clean("6-large");
    expect(kiosk.faults).toEqual([]);
    await kiosk.close();
  }, 90_000);
});
