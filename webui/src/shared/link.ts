// The visit's WebSocket: connects, says hello, notices a dead server and tries again. It decides nothing about the page.

import { backoffMs } from "./backoff";
import type { ClientFrame, ServerFrame } from "./wire";

/** A connection that has not greeted us, or a command nobody answers, within this time counts as lost. */
export const ANSWER_WITHIN_MS = 4000;

export interface LinkPorts {
  /** The address to try now. */
  url(): string;
  /** The first frame of a connection. */
  hello(): ClientFrame;
  onFrame(frame: ServerFrame): void;
  /** `open` after the server's welcome; `away` when the connection ended. */
  onLink(link: "open" | "away"): void;
  /** Injected in tests. */
  connect?(url: string): WebSocket;
}

export interface Link {
  start(): void;
  stop(): void;
  /** Sends now or not at all: nothing a visitor did is repeated later. */
  send(frame: ClientFrame): boolean;
}

export function createLink(ports: LinkPorts): Link {
  const connect = ports.connect ?? ((url: string) => new WebSocket(url));
  let socket: WebSocket | null = null;
  let greeted = false;
  let attempt = 0;
  let running = false;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let deadline: ReturnType<typeof setTimeout> | undefined;

  function open(): void {
    if (!running) return;
    let mine: WebSocket;
    try {
      mine = connect(ports.url());
    } catch {
      again();
      return;
    }
    socket = mine;
    greeted = false;
    expectAnswer(mine);
    mine.onopen = () => {
      if (mine === socket) mine.send(JSON.stringify(ports.hello()));
    };
    mine.onmessage = (event: MessageEvent) => {
      if (mine !== socket || typeof event.data !== "string") return;
      const frame = parse(event.data);
      if (frame === null) return;
      if (frame.type === "welcome" && !greeted) {
        greeted = true;
        attempt = 0;
        ports.onLink("open");
      }
      if (greeted) clearTimeout(deadline);
      if (frame.type === "taken_over") stop();
      ports.onFrame(frame);
    };
    mine.onclose = () => lost(mine);
    mine.onerror = () => lost(mine);
  }

  function lost(which: WebSocket): void {
    if (which !== socket) return;
    socket = null;
    greeted = false;
    clearTimeout(deadline);
    which.onclose = which.onerror = which.onmessage = null;
    which.close();
    if (!running) return;
    ports.onLink("away");
    again();
  }

  function again(): void {
    clearTimeout(retry);
    retry = setTimeout(open, backoffMs(attempt));
    attempt += 1;
  }

  function expectAnswer(which: WebSocket): void {
    clearTimeout(deadline);
    deadline = setTimeout(() => lost(which), ANSWER_WITHIN_MS);
  }

  function stop(): void {
    running = false;
    clearTimeout(retry);
    clearTimeout(deadline);
    const old = socket;
    socket = null;
    greeted = false;
    old?.close();
  }

  return {
    start() {
      if (running) return;
      running = true;
      attempt = 0;
      open();
    },
    stop,
    send(frame) {
      if (socket === null || !greeted || socket.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(frame));
      if ("id" in frame) expectAnswer(socket);
      return true;
    },
  };
}

function parse(text: string): ServerFrame | null {
  try {
    const body: unknown = JSON.parse(text);
    const typed = typeof body === "object" && body !== null && typeof (body as { type?: unknown }).type === "string";
    return typed ? (body as ServerFrame) : null;
  } catch {
    return null;
  }
}
