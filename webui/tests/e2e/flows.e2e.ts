// What a visitor meets, on a real browser against a scripted server.

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { begin, launch, open, until, type Kiosk } from "./kiosk";
import { CHOICES, QUIET } from "./mock";

let browser: Browser;
let kiosk: Kiosk;
const TEXT = "It was broken in 1845 by a visitor. Each time it was glued it came out a little better.";
const CUT = TEXT.indexOf("Each");

beforeAll(async () => void (browser = await launch()));
afterAll(() => browser.close());
beforeEach(async () => void (kiosk = await open(browser)));
afterEach(async () => {
  const { faults, mock } = kiosk;
  await kiosk.close();
  expect(faults).toEqual([]);
  expect(mock.outside).toEqual([]);
});

function speak(generation: number, rendered: number) {
  const { mock } = kiosk;
  mock.send({ type: "utterance", generation, utterance_id: 1, text: TEXT, spans: [[0, CUT], [CUT, TEXT.length]], agent: "guide" });
  mock.status({ speaking: true });
  mock.send({ type: "caption", generation, utterance_id: 1, rendered_chars: rendered, state: "speaking" });
}

describe("the first touch", () => {
  test("is answered at once and begins a visit in the first language", async () => {
    const { page, mock } = kiosk;
    await until(() => mock.page !== null);
    await page.mouse.move(540, 400);
    await page.mouse.down();
    const shown = await page.evaluate(() => document.querySelector(".visit") !== null);

    expect(shown).toBe(true);
    await page.mouse.up();
    await until(() => mock.of("start").length === 1);
    expect(mock.of("start")[0]?.language).toBe("en");
    expect(mock.of("hello")[0]?.token).toBe("test-token");
    expect(page.url()).not.toContain("token");
  });

  test("does not press what appears under it", async () => {
    const { page, mock } = kiosk;
    await until(() => mock.page !== null);
    await page.mouse.click(540, 400);
    await page.locator(".choice").first().waitFor();
    const box = await page.locator(".choice").first().boundingBox();
    await page.mouse.click((box?.x ?? 0) + 30, (box?.y ?? 0) + 20);
    await page.waitForTimeout(700);

    expect(mock.of("choose")).toEqual([]);
    await page.locator(".choice").first().click();
    await until(() => mock.of("choose").length === 1);
  });

  test("on a language begins in that language", async () => {
    const { page, mock } = kiosk;
    await until(() => mock.page !== null);
    await page.getByRole("button", { name: /Toque para empezar/ }).tap();
    await page.getByText("¿Qué le gustaría saber?").waitFor();

    expect(mock.of("start")[0]?.language).toBe("es");
    expect(await page.locator("html").getAttribute("lang")).toBe("es");
  });

  test("may be a key", async () => {
    const { page, mock } = kiosk;
    await until(() => mock.page !== null);
    await page.keyboard.press("Enter");

    await until(() => mock.of("start").length === 1);
  });
});

describe("a conversation", () => {
  beforeEach(() => begin(kiosk));

  test("offers three questions, and two fast strikes ask once", async () => {
    const { page, mock } = kiosk;
    expect(await page.locator(".choice").allTextContents()).toEqual(CHOICES.en.map((one) => one.text));
    await page.locator(".choice").nth(1).dblclick();
    await page.waitForTimeout(200);

    expect(mock.of("choose").map((one) => one.choice_id)).toEqual(["c2"]);
  });

  test("captions follow the sound and stay when it ended", async () => {
    const { page, mock } = kiosk;
    speak(1, 10);
    const captions = page.getByTestId("captions");
    await page.locator(".heard", { hasText: "It was bro" }).waitFor();
    expect(await captions.textContent()).not.toContain("Each time");
    mock.send({ type: "caption", generation: 1, utterance_id: 1, rendered_chars: TEXT.length, state: "finished" });
    mock.send({ type: "sources", generation: 1, sources: [{ id: "s", title: "British Museum, 1945,0927.1" }] });
    mock.status({});
    await captions.getByText("British Museum, 1945,0927.1").waitFor();

    expect(await captions.textContent()).toContain("little better");
    expect(await page.getByTestId("transcript").textContent()).toContain(TEXT);
  });

  test("barge-in cuts the caption where it was heard and marks it", async () => {
    const { page, mock } = kiosk;
    speak(1, 10);
    await page.locator(".heard", { hasText: "It was bro" }).waitFor();
    mock.send({ type: "clear", generation: 1 });
    mock.send({ type: "caption", generation: 1, utterance_id: 1, rendered_chars: 10, state: "interrupted" });
    mock.send({ type: "transcript", turn_id: "t1", text: "and who", final: false });
    await page.locator(".asked.interim").waitFor();
    mock.send({ type: "caption", generation: 1, utterance_id: 1, rendered_chars: 60, state: "speaking" });
    await page.waitForTimeout(100);
    const transcript = (await page.getByTestId("transcript").textContent()) ?? "";

    expect(transcript).toContain("Stopped here");
    expect(transcript).not.toContain("Each time");
  });

  test("talk is held by finger and by key; stop stops", async () => {
    const { page, mock } = kiosk;
    const box = await page.locator(".talk").boundingBox();
    await page.mouse.move((box?.x ?? 0) + 200, (box?.y ?? 0) + 40);
    await page.mouse.down();
    await until(() => mock.of("talk_down").length === 1);
    expect(mock.of("talk_up").length).toBe(0);
    await page.mouse.move(20, 20);
    await page.mouse.up();
    await until(() => mock.of("talk_up").length === 1);
    await page.waitForTimeout(600);
    await page.locator(".talk").focus();
    await page.keyboard.down("Space");
    await until(() => mock.of("talk_down").length === 2);
    await page.keyboard.up("Space");
    await until(() => mock.of("talk_up").length === 2);
    speak(1, 5);
    await page.getByRole("button", { name: "Stop" }).click();
    await until(() => mock.of("stop").length === 1);
  });

  test("a question is typed on the page's own Spanish keys", async () => {
    const { page, mock } = kiosk;
    await page.getByRole("button", { name: "Español" }).click();
    await page.getByRole("button", { name: "Escribir" }).click();
    for (const key of ["¿", "a", "ñ", "o", "?"]) await page.getByRole("button", { name: key, exact: true }).tap();
    await page.getByRole("button", { name: "Borrar" }).tap();
    await page.keyboard.type("s?");
    await page.getByRole("button", { name: "Enviar" }).click();

    await until(() => mock.of("say").length === 1);
    expect(mock.of("say")[0]?.text).toBe("¿años?");
  });

  test("in silent mode replies are read and acknowledged", async () => {
    const { page, mock } = kiosk;
    await page.getByRole("button", { name: "Read, no sound" }).click();
    await until(() => mock.of("setting").length === 1);
    await page.locator('[aria-pressed="true"]', { hasText: "Read, no sound" }).waitFor();
    speak(1, 0);
    await until(() => mock.of("shown").length === 2, 9000);

    expect(mock.of("shown").map((one) => one.chars)).toEqual([expect.closeTo(CUT, -1), TEXT.length]);
  });

  test("a markup-like word stays text", async () => {
    const { page, mock } = kiosk;
    const word = "<img src=x onerror=alert(1)>";
    mock.send({ type: "transcript", turn_id: "t1", text: word, final: true });
    await page.getByTestId("transcript").getByText(word).waitFor();

    expect(await page.locator('img[src="x"]').count()).toBe(0);
  });

  test("degraded parts are worded", async () => {
    const { page, mock } = kiosk;
    mock.status({ degraded: ["audio.microphone_lost"] });

    await page.getByTestId("notices").getByText("The guide cannot hear right now.", { exact: false }).waitFor();
    expect(await page.locator(".talk").isDisabled()).toBe(true);
    const automatic = page.getByRole("button", { name: "Listen automatically" });
    expect(await automatic.isDisabled()).toBe(true);
    expect(await automatic.getAttribute("aria-pressed")).toBe("false");
  });

  test("an answer to read has no volume", async () => {
    const { page } = kiosk;
    await page.getByRole("button", { name: "Read, no sound" }).tap();
    await page.getByRole("button", { name: "Louder", disabled: true }).waitFor();
  });

  test("the countdown is answered with one touch", async () => {
    const { page, mock } = kiosk;
    mock.send({ type: "countdown", ends_in_s: 20 });
    await page.getByText("This visit ends in 20 seconds.").waitFor();
    await page.getByRole("button", { name: "I'm still here" }).tap();
    await until(() => mock.of("extend").length === 1);

    await page.getByText("Are you still here?").waitFor({ state: "detached" });
  });

  test("activity is sent, at most once a second", async () => {
    const { page, mock } = kiosk;
    const before = mock.of("activity").length;
    for (let i = 0; i < 5; i += 1) await page.mouse.click(5, 900);
    await page.waitForTimeout(100);

    expect(mock.of("activity").length - before).toBe(1);
  });

  test("heartbeats prove painted frames to both", async () => {
    const { mock } = kiosk;
    await until(() => mock.beats.length >= 2 && mock.of("heartbeat").length >= 1, 9000);

    expect(mock.beats.at(-1)).toMatchObject({ build: "build-1", socket: true });
    expect(Number(mock.beats[1]?.frames)).toBeGreaterThan(Number(mock.beats[0]?.frames));
  });

  test("reset forgets: nothing of the visit is left anywhere", async () => {
    const { page, mock } = kiosk;
    mock.send({ type: "transcript", turn_id: "t1", text: "xylophone secret", final: true });
    speak(1, TEXT.length);
    await page.getByTestId("transcript").getByText("xylophone secret").waitFor();
    await page.getByRole("button", { name: /Settings/ }).click();
    await page.getByRole("button", { name: "Light" }).click();
    mock.send({ type: "reset", reason: "inactive" });
    await page.locator(".begin").first().waitFor();
    const left = await page.evaluate(async () => ({
      html: document.documentElement.outerHTML,
      theme: document.documentElement.dataset.theme,
      stored: localStorage.length + sessionStorage.length,
      cookies: document.cookie,
      databases: (await indexedDB.databases()).length,
      state: JSON.stringify(history.state),
    }));

    expect(left.html).not.toContain("xylophone");
    expect(left.html).not.toContain("broken in 1845");
    expect(left).toMatchObject({ theme: "dark", stored: 0, cookies: "", databases: 0, state: "null" });
  });

  test("a newer page takes over and this one waits for a touch", async () => {
    const { page, mock } = kiosk;
    mock.send({ type: "taken_over" });
    const back = page.getByRole("button", { name: "Use this screen" });
    await back.waitFor();
    await page.waitForTimeout(1500);
    expect(mock.of("hello").length).toBe(1);
    await back.click();

    await until(() => mock.of("hello").length === 2);
  });
});

describe("when the guide is away", () => {
  test("the exhibits stay, can be heard and stopped, and the guide returns without a reload", async () => {
    const { page, mock } = kiosk;
    await begin(kiosk);
    await page.evaluate(() => ((window as unknown as { mark: number }).mark = 1));
    const since = Date.now();
    mock.socketDown();
    await page.getByTestId("fallback").waitFor();
    expect(Date.now() - since).toBeLessThan(1500);
    await page.getByText("Please ask a member of staff in the gallery.").waitFor();
    await page.locator(".cell").nth(1).click();
    await page.getByText("A visitor broke it in 1845.", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Listen" }).click();
    await page.getByTestId("stop-always").click();
    await page.getByRole("button", { name: "Listen" }).waitFor();
    mock.socketUp();
    await page.locator(".choice").first().waitFor({ timeout: 9000 });

    expect(mock.of("hello")[1]?.visit_token).toBe("visit-token-1");
    expect(mock.of("start").length).toBe(2);
    expect(mock.of("exhibit").at(-1)?.exhibit).toBe("portland-vase");
    expect(await page.evaluate(() => (window as unknown as { mark: number }).mark)).toBe(1);
  });

  test("a short break is not shown", async () => {
    const { page, mock } = kiosk;
    await begin(kiosk);
    const seen = page.getByTestId("fallback").waitFor({ timeout: 1500 }).then(() => true, () => false);
    for (const client of [mock.page]) client?.terminate();

    expect(await seen).toBe(false);
    expect(mock.of("hello").length).toBe(2);
  });

  test("another build on the server reloads the waiting page once", async () => {
    const { page, mock } = kiosk;
    await until(() => mock.page !== null);
    await page.evaluate(() => ((window as unknown as { mark: number }).mark = 1));
    mock.build = "build-2";
    await until(() => mock.of("hello").length === 2, 9000);
    await page.waitForTimeout(3500);

    expect(mock.of("hello").length).toBe(2);
    expect(mock.of("hello")[1]?.token).toBe("test-token");
    expect(await page.evaluate(() => (window as unknown as { mark?: number }).mark)).toBeUndefined();
  });
});

test("a visit's status is announced", async () => {
  await begin(kiosk);
  kiosk.mock.send({ type: "status", status: { ...QUIET, listening: true, hearing: true } });

  await kiosk.page.getByRole("status").getByText("Hearing you").waitFor();
});
