// Which phrase of an utterance is shown, broken into lines, with what has been heard of it. Pure.
//
// A phrase is shown from its first rendered sample on (never before) and stays until the next one begins.

export const LINE_CHARS = 42;
export const LINES = 2;
/** 160–180 words a minute (BBC subtitle guidance) is about 15 characters a second. */
export const READING_CHARS_PER_S = 15;
const SHORTEST_READ_MS = 1000;
const LONGEST_READ_MS = 7000;

export type Delivery = "pending" | "speaking" | "held" | "finished" | "interrupted" | "failed";

export interface Utterance {
  readonly id: number;
  readonly text: string;
  readonly spans: readonly (readonly [number, number])[];
  readonly rendered: number;
  readonly state: Delivery;
}

export interface CaptionLine {
  /** Offset into the utterance; identifies the line. */
  readonly start: number;
  readonly heard: string;
  readonly ahead: string;
}

export interface CaptionView {
  readonly lines: readonly CaptionLine[];
  readonly state: Delivery;
}

/** The spans as given, with holes closed and anything longer than two lines split. */
export function phrases(utterance: Utterance): readonly (readonly [number, number])[] {
  const given = utterance.spans.filter(([start, end]) => end > start && end <= utterance.text.length);
  const spans: (readonly [number, number])[] = given.length > 0 ? [...given] : [[0, utterance.text.length]];
  return spans.flatMap(([start, end]) => {
    const lines = breakLines(utterance.text, start, end);
    const pages: [number, number][] = [];
    for (let i = 0; i < lines.length; i += LINES) {
      const first = lines[i];
      const last = lines[Math.min(i + LINES, lines.length) - 1];
      if (first && last) pages.push([first[0], last[1]]);
    }
    return pages;
  });
}

/** The phrase that is being heard (the last one that has begun). */
export function captionOf(utterance: Utterance): CaptionView {
  const pages = phrases(utterance);
  let page = pages[0];
  for (const candidate of pages) if (candidate[0] < utterance.rendered) page = candidate;
  if (!page) return { lines: [], state: utterance.state };
  const lines = breakLines(utterance.text, page[0], page[1]).map(([start, end]) => {
    const cut = Math.min(Math.max(utterance.rendered, start), end);
    return { start, heard: utterance.text.slice(start, cut), ahead: utterance.text.slice(cut, end) };
  });
  return { lines, state: utterance.state };
}

/** Where the shown text ends: the end of the phrase being heard, or where an interruption cut it. */
export function shownUpTo(utterance: Utterance): number {
  if (utterance.state === "finished") return utterance.text.length;
  if (utterance.state === "interrupted" || utterance.state === "failed") return utterance.rendered;
  const pages = phrases(utterance);
  let end = pages[0]?.[1] ?? 0;
  for (const [start, stop] of pages) if (start < utterance.rendered) end = stop;
  return end;
}

/** How long a phrase of `chars` characters stays before the next one in silent mode. */
export function readingMs(chars: number): number {
  return Math.min(LONGEST_READ_MS, Math.max(SHORTEST_READ_MS, (chars / READING_CHARS_PER_S) * 1000));
}

/** Breaks text[start:end] into lines of at most `LINE_CHARS`, two lines balanced, never inside a word that fits. */
export function breakLines(text: string, start: number, end: number): readonly (readonly [number, number])[] {
  while (start < end && /\s/.test(text.charAt(start))) start += 1;
  while (end > start && /\s/.test(text.charAt(end - 1))) end -= 1;
  if (end <= start) return [];
  const length = end - start;
  if (length <= LINE_CHARS) return [[start, end]];
  if (length <= LINE_CHARS * 2) {
    const split = balancedSplit(text, start, end);
    if (split !== null) return [[start, split], [split + 1, end]];
  }
  const lines: [number, number][] = [];
  let from = start;
  while (end - from > LINE_CHARS) {
    let cut = from + LINE_CHARS;
    while (cut > from && !/\s/.test(text.charAt(cut))) cut -= 1;
    if (cut === from) cut = from + LINE_CHARS;
    lines.push([from, cut]);
    from = cut;
    while (from < end && /\s/.test(text.charAt(from))) from += 1;
  }
  if (from < end) lines.push([from, end]);
  return lines;
}

function balancedSplit(text: string, start: number, end: number): number | null {
  const middle = (start + end) / 2;
  let best: number | null = null;
  for (let i = start + 1; i < end; i += 1) {
    const fits = i - start <= LINE_CHARS && end - i - 1 <= LINE_CHARS;
    if (text.charAt(i) !== " " || !fits) continue;
    if (best === null || Math.abs(i - middle) < Math.abs(best - middle)) best = i;
  }
  return best;
}
