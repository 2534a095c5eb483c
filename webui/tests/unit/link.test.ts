import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ANSWER_WITHIN_MS, createLink } from "../../src/shared/link";
import type { ServerFrame } from "../../src/shared/wire";

class FakeSocket {
  static all: FakeSocket[] = [];
  readyState = 1;
  sent: string[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  onerror: (() => void) | null = null;
  constructor() {
    FakeSocket.all.push(this);
  }
  send(text: string) {
    this.sent.push(text);
  }
  close() {
    this.readyState = 3;
  }
  receive(frame: object) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

const last = () => FakeSocket.all.at(-1) as FakeSocket;

function setup() {
  const log: string[] = [];
  const link = createLink({
    url: () => "ws://127.0.0.1:1/v1/visit",
    hello: () => ({ type: "hello", token: "t" }),
    onFrame: (frame: ServerFrame) => log.push(frame.type),
    onLink: (state) => log.push(state),
    connect: () => new FakeSocket() as unknown as WebSocket,
  });
  link.start();
  last().onopen?.();
  return { link, log };
}

describe("the link", () => {
  beforeEach(() => {
    FakeSocket.all = [];
    vi.useFakeTimers();
    vi.stubGlobal("WebSocket", { OPEN: 1 });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test("says hello first and is open only after the welcome", () => {
    const { link, log } = setup();

    expect(JSON.parse(last().sent[0] ?? "")).toEqual({ type: "hello", token: "t" });
    expect(link.send({ type: "activity" })).toBe(false);
    last().receive({ type: "welcome" });
    expect(log).toEqual(["open", "welcome"]);
    expect(link.send({ type: "activity" })).toBe(true);
  });

  test("a closed connection is tried again after a quarter of a second", () => {
    const { log } = setup();
    last().receive({ type: "welcome" });
    last().onclose?.();

    expect(log.at(-1)).toBe("away");
    vi.advanceTimersByTime(249);
    expect(FakeSocket.all.length).toBe(1);
    vi.advanceTimersByTime(1);
    expect(FakeSocket.all.length).toBe(2);
  });

  test("a command nobody answers means the server is gone", () => {
    const { link, log } = setup();
    last().receive({ type: "welcome" });
    vi.advanceTimersByTime(ANSWER_WITHIN_MS * 3);
    expect(log.at(-1)).toBe("welcome");
    link.send({ type: "stop", id: "1" });
    vi.advanceTimersByTime(ANSWER_WITHIN_MS);

    expect(log.at(-1)).toBe("away");
  });

  test("a page that was taken over does not come back by itself", () => {
    setup();
    last().receive({ type: "welcome" });
    last().receive({ type: "taken_over" });
    vi.advanceTimersByTime(60_000);

    expect(FakeSocket.all.length).toBe(1);
  });

  test("nonsense from the server is dropped", () => {
    const { log } = setup();
    last().onmessage?.({ data: "{" });
    last().receive({ kind: "x" });

    expect(log).toEqual([]);
  });
});
