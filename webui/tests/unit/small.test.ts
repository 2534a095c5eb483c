import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createReader } from "../../src/kiosk/reader";
import { backoffMs } from "../../src/shared/backoff";
import { layoutFor } from "../../src/shared/keyboards";
import { mediaUrl } from "../../src/shared/manifest";
import { messagesFor, wordCode } from "../../src/shared/messages";
import { en } from "../../src/shared/messages/en";
import { es } from "../../src/shared/messages/es";
import { createStrikeGuard, createThrottle, createWakeGuard } from "../../src/shared/touch";
import { advance, calm, loudness, POINTS, radius, resting, RINGS, type Mood } from "../../src/stage/figure";

test("retries start at a quarter of a second and never wait longer than five", () => {
  expect([0, 1, 2, 3, 4, 5, 60].map(backoffMs)).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000]);
});

describe("touch", () => {
  test("a second strike within half a second is ignored, another key is not", () => {
    const strike = createStrikeGuard();

    expect([strike("a", 0), strike("a", 300), strike("b", 310), strike("a", 900)]).toEqual([true, false, true, true]);
  });

  test("the waking touch presses nothing until it is lifted and half a second is over", () => {
    const guard = createWakeGuard();
    guard.woke(0);

    expect([guard.blocks(450), guard.blocks(3000)]).toEqual([true, true]);
    guard.lifted(3000);
    expect([guard.blocks(3010), guard.blocks(3100)]).toEqual([true, false]);
  });

  test("a lift that never comes does not lock the screen", () => {
    const guard = createWakeGuard();
    guard.woke(0);

    expect(guard.blocks(4001)).toBe(false);
  });

  test("activity is sent at most once a second", () => {
    const allow = createThrottle(1000);

    expect([allow(0), allow(999), allow(1000)]).toEqual([true, false, true]);
  });
});

describe("wording", () => {
  const shape = (value: unknown): unknown =>
    typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]))
      : typeof value;

  test("every language words the same things", () => {
    expect(shape(es)).toEqual(shape(en));
  });

  test("codes fall back to their family, then to a general sentence", () => {
    expect(wordCode(en, "audio.microphone_lost")).toBe(en.notices["audio.microphone"]);
    expect(wordCode(es, "stt.failed")).toBe(es.notices.stt);
    expect(wordCode(es, "unheard.of")).toBe(es.notices.general);
  });

  test("a regional language uses its base, an unknown one English", () => {
    expect([messagesFor("es-MX"), messagesFor("xx")]).toEqual([es, en]);
  });

  test("the Spanish keyboard has ñ, accents and opening marks", () => {
    const keys = layoutFor("es").rows.flat().join("");

    for (const key of "ñáéíóúü¿¡") expect(keys).toContain(key);
  });
});

test("media addresses stay inside the pack", () => {
  expect(mediaUrl("media/a-b.svg")).toBe("/fallback/media/a-b.svg");
  for (const bad of ["../x", "/etc/x", "https://x", "media/../../x", "", null]) expect(mediaUrl(bad)).toBeNull();
});

describe("silent reading", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const utterance = { id: 4, text: "First phrase here. Second one.", spans: [[0, 19], [19, 30]], rendered: 0, state: "speaking" } as const;

  test("phrases come at reading speed and are acknowledged when read", () => {
    const log: string[] = [];
    const reader = createReader({ reveal: (_g, _u, chars) => log.push(`up ${chars}`), shown: (_g, _u, chars) => log.push(`read ${chars}`) });
    reader.add(1, utterance);

    expect(log).toEqual(["up 18"]);
    vi.advanceTimersByTime(1300);
    expect(log).toEqual(["up 18", "read 18", "up 30"]);
    vi.advanceTimersByTime(1300);
    expect(log.at(-1)).toBe("read 30");
  });

  test("a cleared reply is neither revealed nor acknowledged further", () => {
    const log: string[] = [];
    const reader = createReader({ reveal: () => log.push("up"), shown: () => log.push("read") });
    reader.add(1, utterance);
    reader.clear(1);
    vi.advanceTimersByTime(10_000);

    expect(log).toEqual(["up"]);
  });
});

describe("the figure", () => {
  const after = (seconds: number, level: number, mood: Mood) => {
    let figure = resting;
    for (let t = 0; t < seconds; t += 1 / 30) figure = advance(figure, level, mood, 1 / 30);
    return figure;
  };

  test("it rises fast with the sound and falls back to rest", () => {
    const loud = after(0.3, 0.3, "speaking");

    expect(loud.energy).toBeGreaterThan(0.7);
    let quiet = loud;
    for (let i = 0; i < 90; i += 1) quiet = advance(quiet, 0, "ready", 1 / 30);
    expect(quiet.energy).toBe(0);
  });

  test("loudness is bounded and silent at silence", () => {
    expect([loudness(0), loudness(Number.NaN), loudness(9)]).toEqual([0, 0, 1]);
  });

  test("rings stay inside the canvas for any level and mood", () => {
    for (const mood of ["away", "ready", "listening", "thinking", "speaking", "held"] as const) {
      const figure = after(1, 1, mood);
      for (let ring = 0; ring < RINGS; ring += 1) {
        for (let i = 0; i < POINTS; i += 1) {
          const r = radius(figure, ring, i / POINTS);
          expect(r).toBeGreaterThan(0);
          expect(r).toBeLessThanOrEqual(1);
        }
      }
    }
  });

  test("a long pause between frames does not jump", () => {
    expect(advance(resting, 0, "ready", 60).time).toBeLessThanOrEqual(0.1);
  });

  test("it is calm only when it breathes and nothing else", () => {
    expect([calm(resting, 0, "ready"), calm(resting, 0.2, "ready"), calm(resting, 0, "listening")]).toEqual([true, false, false]);
    expect(calm(after(0.3, 0.3, "speaking"), 0, "ready")).toBe(false);
  });

  test("held stands almost still", () => {
    const held = after(2, 0, "held");

    expect(advance(held, 0, "held", 0.1).time - held.time).toBeLessThan(0.02);
  });
});
