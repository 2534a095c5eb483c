import { describe, expect, test } from "vitest";
import { breakLines, captionOf, LINE_CHARS, phrases, readingMs, shownUpTo, type Utterance } from "../../src/shared/captions";

const TEXT = "The vase was broken in 1845. It was glued together three times, and each time a little better.";
const FIRST = TEXT.indexOf("It was");
const utterance = (over: Partial<Utterance> = {}): Utterance => ({
  id: 1,
  text: TEXT,
  spans: [[0, FIRST], [FIRST, TEXT.length]],
  rendered: 0,
  state: "speaking",
  ...over,
});
const words = (one: Utterance) => captionOf(one).lines.map((line) => line.heard + line.ahead);

describe("captions", () => {
  test("the first phrase is up from the first rendered sample", () => {
    expect(["The vase was broken in 1845."]).toEqual(words(utterance()));
  });

  test("the next phrase is not shown before its first sample", () => {
    expect(["The vase was broken in 1845."]).toEqual(words(utterance({ rendered: FIRST })));
    expect(words(utterance({ rendered: FIRST + 1 })).join(" ")).toContain("three times");
  });

  test("what was heard and what lies ahead are told apart", () => {
    expect(captionOf(utterance({ rendered: 8 })).lines).toEqual([{ start: 0, heard: "The vase", ahead: " was broken in 1845." }]);
  });

  test("lines are at most 42 characters and at most two", () => {
    const long = "word ".repeat(80).trim();
    const one = utterance({ text: long, spans: [[0, long.length]] });

    for (const [start, end] of phrases(one)) {
      const lines = breakLines(long, start, end);
      expect(lines.length).toBeLessThanOrEqual(2);
      for (const [from, to] of lines) expect(to - from).toBeLessThanOrEqual(LINE_CHARS);
    }
  });

  test("every letter is in exactly one line", () => {
    const lines = breakLines(TEXT, 0, TEXT.length).map(([from, to]) => TEXT.slice(from, to));

    expect(lines.join(" ")).toBe(TEXT);
  });

  test("an endless word is cut rather than overflowing", () => {
    const lines = breakLines("x".repeat(100), 0, 100);

    expect(lines.map(([from, to]) => to - from)).toEqual([42, 42, 16]);
  });

  test("without spans the whole text is paged", () => {
    expect(phrases(utterance({ spans: [] })).length).toBe(2);
  });

  test("an interruption ends the shown text where the sound ended", () => {
    expect(shownUpTo(utterance({ rendered: 8, state: "interrupted" }))).toBe(8);
    expect(shownUpTo(utterance({ rendered: 3, state: "finished" }))).toBe(TEXT.length);
  });

  test("reading time stays between one and seven seconds", () => {
    expect([readingMs(1), readingMs(45), readingMs(500)]).toEqual([1000, 3000, 7000]);
  });
});
