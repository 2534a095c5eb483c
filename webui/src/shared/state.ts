// What the page shows, as a pure function of the server's frames and a few local facts.
//
// It draws nothing, sends nothing and reads no clock: `at` (milliseconds) comes with each event.

import type { Delivery, Utterance } from "./captions";
import { shownUpTo } from "./captions";
import type { AgentView, ChoiceView, Features, ServerFrame, Snapshot, SourceView, StatusView } from "./wire";

export const MOST_LINES = 60;

export type Link = "connecting" | "open" | "away" | "taken_over";

export interface VisitorLine {
  readonly role: "visitor";
  readonly key: string;
  readonly text: string;
  readonly final: boolean;
}

export interface GuideLine {
  readonly role: "guide";
  readonly key: string;
  /** Text delivered before this page joined. */
  readonly before: string;
  readonly utterances: readonly Utterance[];
  readonly state: Delivery;
  readonly sources: readonly SourceView[];
  /** Who says it. */
  readonly agent: string;
}

export type TalkLine = VisitorLine | GuideLine;

export interface Page {
  readonly link: Link;
  readonly phase: "attract" | "visit";
  /** A visit was begun here and the server has not answered yet. */
  readonly starting: boolean;
  readonly visit: string;
  readonly visitToken: string;
  readonly release: string;
  readonly build: string;
  readonly languages: readonly string[];
  readonly language: string;
  readonly features: Features;
  readonly mode: "button" | "automatic";
  readonly silent: boolean;
  readonly volume: number;
  readonly exhibit: string | null;
  readonly choices: readonly ChoiceView[];
  readonly agents: readonly AgentView[];
  /** Who is asked. */
  readonly agent: string;
  readonly lines: readonly TalkLine[];
  readonly status: StatusView;
  readonly progress: { readonly current: number | null; readonly total: number | null } | null;
  readonly notice: { readonly code: string; readonly severity: "info" | "warning"; readonly at: number } | null;
  readonly countdownEndsAt: number | null;
  /** Frames of this generation and older are void. */
  readonly cleared: number;
}

export type PageEvent =
  | { readonly type: "frame"; readonly frame: ServerFrame; readonly at: number }
  | { readonly type: "link"; readonly link: Link }
  | { readonly type: "languages"; readonly languages: readonly string[] }
  | { readonly type: "touched"; readonly language: string; readonly exhibit: string | null }
  | { readonly type: "start_refused" }
  | { readonly type: "local_language"; readonly language: string }
  | { readonly type: "local_exhibit"; readonly exhibit: string | null }
  | { readonly type: "read"; readonly generation: number; readonly utterance: number; readonly chars: number }
  | { readonly type: "notice_seen" };

const QUIET: StatusView = { listening: false, hearing: false, thinking: false, speaking: false, held: false, degraded: [] };

/** Who answers when nobody else is asked. */
export const GUIDE = "guide";

export const initial: Page = {
  link: "connecting",
  phase: "attract",
  starting: false,
  visit: "",
  visitToken: "",
  release: "",
  build: "",
  languages: ["en"],
  language: "en",
  features: { speech_in: true, speech_out: true, automatic: false, robotic_voice: [] },
  mode: "button",
  silent: false,
  volume: 0,
  exhibit: null,
  choices: [],
  agents: [],
  agent: GUIDE,
  lines: [],
  status: QUIET,
  progress: null,
  notice: null,
  countdownEndsAt: null,
  cleared: -1,
};

export function reduce(page: Page, event: PageEvent): Page {
  switch (event.type) {
    case "frame":
      return onFrame(page, event.frame, event.at);
    case "link":
      // Nothing is heard over a lost link; what was said stays readable.
      return event.link === "open"
        ? { ...page, link: "open" }
        : { ...page, link: event.link, starting: false, status: QUIET, countdownEndsAt: null, progress: null, lines: cut(page.lines) };
    case "languages":
      return adopt(page, event.languages);
    case "touched":
      return { ...forget(page), phase: "visit", starting: true, language: event.language, exhibit: event.exhibit };
    case "start_refused":
      return page.starting ? forget(page) : page;
    case "local_language":
      return { ...page, language: event.language };
    case "local_exhibit":
      return { ...page, exhibit: event.exhibit };
    case "read":
      return withUtterance(page, event.generation, event.utterance, (utterance) => ({
        ...utterance,
        rendered: Math.max(utterance.rendered, event.chars),
      }));
    case "notice_seen":
      return { ...page, notice: null };
  }
}

/** The start screen again: nothing of the visit remains. */
export function forget(page: Page): Page {
  return {
    ...initial,
    link: page.link,
    release: page.release,
    build: page.build,
    languages: page.languages,
    language: page.languages[0] ?? initial.language,
    features: page.features,
    status: { ...QUIET, degraded: page.status.degraded },
    cleared: page.cleared,
  };
}

function onFrame(page: Page, frame: ServerFrame, at: number): Page {
  switch (frame.type) {
    case "welcome":
      return {
        ...adopt(page, frame.languages),
        link: "open",
        visit: frame.visit,
        visitToken: frame.visit_token,
        release: frame.release,
        build: frame.build,
        features: frame.features,
        cleared: -1,
      };
    case "snapshot":
      return fromSnapshot(page, frame, at);
    case "status":
      return { ...page, status: frame.status, progress: frame.status.thinking ? page.progress : null };
    case "transcript":
      return withTranscript(page, frame.turn_id, frame.text, frame.final);
    case "progress":
      return { ...page, progress: { current: frame.current, total: frame.total } };
    case "utterance":
      return frame.generation <= page.cleared ? page : withNewUtterance(page, frame);
    case "caption": {
      const over = frame.state === "interrupted" || frame.state === "failed" || frame.state === "finished";
      if (frame.generation <= page.cleared && !over) return page;
      return withUtterance(page, frame.generation, frame.utterance_id, (utterance) => ({
        ...utterance,
        state: frame.state,
        rendered: over ? frame.rendered_chars : Math.max(utterance.rendered, frame.rendered_chars),
      }));
    }
    case "clear":
      return {
        ...page,
        cleared: Math.max(page.cleared, frame.generation),
        lines: page.lines.map((line) => (line.role === "guide" && Number(line.key) <= frame.generation ? cutLine(line) : line)),
      };
    case "sources":
      return {
        ...page,
        lines: withGuide(page, frame.generation, (line) => ({ ...line, sources: frame.sources })),
      };
    case "focus":
      return { ...page, agent: frame.agent };
    case "exhibit":
      return { ...page, exhibit: frame.exhibit };
    case "choices":
      return { ...page, choices: frame.choices };
    case "settings":
      return { ...page, language: frame.language, mode: frame.mode, silent: frame.silent, volume: frame.volume };
    case "notice":
      return { ...page, notice: { code: frame.code, severity: frame.severity, at } };
    case "countdown":
      return { ...page, countdownEndsAt: frame.ends_in_s === null ? null : at + frame.ends_in_s * 1000 };
    case "reset":
      return forget(page);
    case "taken_over":
      return { ...forget(page), link: "taken_over" };
    case "level":
    case "ack":
    case "error":
      return page;
  }
}

function fromSnapshot(page: Page, frame: Snapshot, at: number): Page {
  // A snapshot written before the server read our `start` must not throw the visitor back.
  if (frame.phase === "attract") return page.starting ? page : forget(page);
  return {
    ...page,
    phase: "visit",
    starting: false,
    language: frame.language,
    mode: frame.mode,
    silent: frame.silent,
    volume: frame.volume,
    exhibit: frame.exhibit,
    choices: frame.choices,
    agents: frame.agents,
    agent: frame.agent,
    status: frame.status,
    countdownEndsAt: frame.countdown_s === null ? null : at + frame.countdown_s * 1000,
    lines: frame.lines.slice(-MOST_LINES).map((line): TalkLine =>
      line.role === "visitor"
        ? { role: "visitor", key: line.key, text: line.text, final: line.state !== "pending" }
        : { role: "guide", key: line.key, before: line.text, utterances: [], state: line.state, sources: line.sources, agent: line.agent },
    ),
  };
}

function adopt(page: Page, languages: readonly string[]): Page {
  if (languages.length === 0) return page;
  const language = languages.includes(page.language) ? page.language : (languages[0] ?? page.language);
  return { ...page, languages, language: page.phase === "attract" ? (languages[0] ?? language) : language };
}

function withTranscript(page: Page, key: string, text: string, final: boolean): Page {
  const there = page.lines.some((line) => line.role === "visitor" && line.key === key);
  if (final && text === "") {
    return { ...page, lines: page.lines.filter((line) => line.role !== "visitor" || line.key !== key) };
  }
  const line: VisitorLine = { role: "visitor", key, text, final };
  const lines = there
    ? page.lines.map((old) => (old.role === "visitor" && old.key === key ? line : old))
    : [...page.lines, line].slice(-MOST_LINES);
  return { ...page, lines, notice: null };
}

function withGuide(page: Page, generation: number, change: (line: GuideLine) => GuideLine): readonly TalkLine[] {
  const { lines } = page;
  const key = String(generation);
  if (lines.some((line) => line.role === "guide" && line.key === key)) {
    return lines.map((line) => (line.role === "guide" && line.key === key ? change(line) : line));
  }
  const line: GuideLine = { role: "guide", key, before: "", utterances: [], state: "pending", sources: [], agent: page.agent };
  return [...lines, change(line)].slice(-MOST_LINES);
}

function withNewUtterance(
  page: Page,
  frame: { generation: number; utterance_id: number; text: string; spans: readonly (readonly [number, number])[]; agent: string },
): Page {
  const added: Utterance = { id: frame.utterance_id, text: frame.text, spans: frame.spans, rendered: 0, state: "speaking" };
  const lines = withGuide(page, frame.generation, (line) =>
    line.utterances.some((old) => old.id === added.id)
      ? line
      : { ...line, state: "speaking", agent: frame.agent, utterances: [...line.utterances, added] },
  );
  return { ...page, lines, notice: null };
}

function withUtterance(page: Page, generation: number, id: number, change: (utterance: Utterance) => Utterance): Page {
  const key = String(generation);
  const lines = page.lines.map((line) => {
    if (line.role !== "guide" || line.key !== key) return line;
    const utterances = line.utterances.map((old) => (old.id === id ? change(old) : old));
    return { ...line, utterances, state: utterances.at(-1)?.state ?? line.state };
  });
  return { ...page, lines };
}

function cut(lines: readonly TalkLine[]): readonly TalkLine[] {
  return lines.map((line) => (line.role === "guide" ? cutLine(line) : line));
}

/** Ends what was still being said; the utterance keeps what was heard. */
function cutLine(line: GuideLine): GuideLine {
  const running = (state: Delivery) => state === "speaking" || state === "held" || state === "pending";
  if (!running(line.state) && !line.utterances.some((one) => running(one.state))) return line;
  return {
    ...line,
    state: "interrupted",
    utterances: line.utterances.map((one) => (running(one.state) ? { ...one, state: "interrupted" } : one)),
  };
}

/** Utterances that have begun. Silent mode may receive several at once and reads them one after another. */
export function begun(line: GuideLine, silent: boolean): readonly Utterance[] {
  return silent ? line.utterances.filter((one, index) => index === 0 || one.rendered > 0) : line.utterances;
}

/** What of a guide's line may be read. */
export function deliveredText(line: GuideLine, silent = false): string {
  const parts = begun(line, silent).map((one) => one.text.slice(0, shownUpTo(one)).trim());
  return [line.before, ...parts].filter((part) => part !== "").join(" ");
}

/** The latest guide line that has something to read. */
export function currentReply(page: Page): GuideLine | null {
  for (let i = page.lines.length - 1; i >= 0; i -= 1) {
    const line = page.lines[i];
    if (line?.role === "guide" && (line.utterances.length > 0 || line.before !== "")) return line;
  }
  return null;
}

/** Those among whom a visitor may choose; nobody where there is only one. */
export function company(page: Page): readonly AgentView[] {
  return page.agents.length > 1 ? page.agents : [];
}

/** Who is asked, where there is a choice. */
export function chosen(page: Page): AgentView | null {
  return agentOf(page, page.agent);
}

/** Who this is, where there is a choice. */
export function agentOf(page: Page, id: string): AgentView | null {
  return company(page).find((one) => one.id === id) ?? null;
}

/** Whether somebody else than the guide speaks, the first of all. */
export function isCharacter(page: Page, id: string): boolean {
  return agentOf(page, id) !== null && id !== page.agents[0]?.id;
}

/** What can be touched: to go on first, then questions, three in all. */
export function offered(page: Page): readonly ChoiceView[] {
  const first = page.choices.filter((one) => one.kind === "continue");
  return [...first, ...page.choices.filter((one) => one.kind !== "continue")].slice(0, 3);
}

export type Word = "away" | "starting" | "hearing" | "listening" | "held" | "speaking" | "reading" | "thinking" | "working" | "ready";

/** One word for the several facts of the status. */
export function statusWord(page: Page): Word {
  if (page.link !== "open" && !page.starting) return "away";
  if (page.starting) return "starting";
  const { status } = page;
  if (status.hearing) return "hearing";
  if (status.held) return "held";
  if (status.speaking) return page.silent ? "reading" : "speaking";
  // In automatic mode the microphone is open all the time: thinking says more.
  if (status.thinking) return page.progress === null ? "thinking" : "working";
  if (status.listening && hears(page)) return "listening";
  return "ready";
}

/** Whether the guide can hear at all. */
export function hears(page: Page): boolean {
  return page.features.speech_in && !page.status.degraded.some((code) => code.startsWith("audio.microphone"));
}

/** Whether something is going on that the visitor can stop. */
export function stoppable(page: Page): boolean {
  return page.status.speaking || page.status.held || page.status.thinking;
}
