// A scripted stand-in for watchdog and sidecar: serves the built page under the strict policy and speaks the wire.

import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname, join } from "node:path";
import { WebSocketServer, type WebSocket } from "ws";
import type { AgentView, ClientFrame, ServerFrame, Snapshot, StatusView } from "../../src/shared/wire";
import { fullManifest, manifest, picture, speech } from "./pack";

const STATIC = join(import.meta.dirname, "..", "..", "..", "backend", "wayside", "server", "static");
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".woff2": "font/woff2",
  ".svg": "image/svg+xml",
};
export const TOKEN = "test-token";
export const PIN = "4711";

export const QUIET: StatusView = { listening: false, hearing: false, thinking: false, speaking: false, held: false, degraded: [] };
export const CHOICES = {
  en: [
    { id: "c1", text: "What game are they playing?", kind: "question" as const },
    { id: "c2", text: "Who broke the Portland Vase?", kind: "question" as const },
    { id: "c3", text: "Why does the Lycurgus Cup change colour?", kind: "question" as const },
  ],
  es: [
    { id: "c1", text: "¿A qué están jugando?", kind: "question" as const },
    { id: "c2", text: "¿Quién rompió el Vaso Portland?", kind: "question" as const },
    { id: "c3", text: "¿Por qué cambia de color la Copa de Licurgo?", kind: "question" as const },
  ],
};

export const AGENTS: AgentView[] = [
  {
    id: "guide",
    name: { en: "The guide", es: "La guía" },
    description: { en: "Knows every vessel here, with its sources", es: "Conoce todas las vasijas, con sus fuentes" },
    picture: "media/agent-guide.svg",
  },
  {
    id: "exekias",
    name: { en: "Exekias", es: "Exequias" },
    description: {
      en: "Potter and painter of Athens, played by the guide's computer",
      es: "Alfarero y pintor de Atenas, interpretado por el ordenador",
    },
    picture: "media/agent-exekias.svg",
  },
];

type Unnumbered<T> = T extends { seq: number } ? Omit<T, "seq"> : never;

export class Mock {
  readonly frames: ClientFrame[] = [];
  readonly beats: Record<string, unknown>[] = [];
  readonly actions: Record<string, unknown>[] = [];
  readonly outside: string[] = [];
  build = "build-1";
  language: "en" | "es" = "en";
  features = { speech_in: true, speech_out: true, automatic: true, robotic_voice: [] as string[] };
  /** Who can be asked; nobody to choose from unless a test says so. */
  agents: AgentView[] = [];
  agent = "guide";
  page: WebSocket | null = null;
  visiting = false;
  #seq = 0;
  #http: Server;
  #sockets = new Set<Socket>();
  #wire: WebSocketServer | null = null;

  constructor() {
    this.#http = createServer((request, response) => void this.#answer(request, response));
    this.#http.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#http.on("upgrade", (request, socket, head) => {
      if (this.#wire === null) socket.destroy();
      else this.#wire.handleUpgrade(request, socket, head, (page) => this.#greet(page));
    });
  }

  async start(): Promise<string> {
    this.socketUp();
    await new Promise<void>((resolve) => this.#http.listen(0, "127.0.0.1", resolve));
    return this.origin;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.socketDown();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  socketUp(): void {
    this.#wire = new WebSocketServer({ noServer: true });
  }

  /** The sidecar is gone: connections end and new ones are refused. */
  socketDown(): void {
    for (const page of this.#wire?.clients ?? []) page.terminate();
    this.#wire = null;
    this.page = null;
    this.visiting = false;
  }

  send(frame: Unnumbered<ServerFrame>): void {
    this.#seq += 1;
    this.page?.send(JSON.stringify({ ...frame, seq: this.#seq }));
  }

  status(over: Partial<StatusView>): void {
    this.send({ type: "status", status: { ...QUIET, ...over } });
  }

  of<T extends ClientFrame["type"]>(type: T): Extract<ClientFrame, { type: T }>[] {
    return this.frames.filter((frame): frame is Extract<ClientFrame, { type: T }> => frame.type === type);
  }

  #welcome(): void {
    this.send({
      type: "welcome",
      visit: this.visiting ? "visit-1" : "",
      visit_token: this.visiting ? "visit-token-1" : "",
      epoch: 1,
      build: this.build,
      release: manifest.release,
      languages: manifest.languages,
      features: this.features,
    });
    const view: Omit<Snapshot, "seq"> = {
      type: "snapshot",
      phase: this.visiting ? "visit" : "attract",
      language: this.language,
      mode: "button",
      silent: false,
      volume: 0,
      exhibit: null,
      choices: this.visiting ? CHOICES[this.language] : [],
      lines: [],
      status: QUIET,
      countdown_s: null,
      agents: this.agents,
      agent: this.agent,
    };
    this.send(view);
  }

  #greet(page: WebSocket): void {
    page.on("message", (data) => {
      const frame = JSON.parse(String(data)) as ClientFrame;
      this.frames.push(frame);
      if (frame.type === "hello") {
        this.page = page;
        if (frame.token === TOKEN) this.#welcome();
        else this.send({ type: "error", code: "wire.token", message: "", id: null });
        return;
      }
      if ("id" in frame) this.send({ type: "ack", id: frame.id });
      this.#act(frame);
    });
  }

  #act(frame: ClientFrame): void {
    switch (frame.type) {
      case "start":
        this.visiting = true;
        this.language = frame.language as "en" | "es";
        this.#welcome();
        break;
      case "language":
        this.language = frame.language as "en" | "es";
        this.send({ type: "settings", language: frame.language, mode: "button", silent: false, volume: 0 });
        this.send({ type: "choices", choices: CHOICES[this.language] });
        break;
      case "exhibit":
        this.send({ type: "exhibit", exhibit: frame.exhibit });
        break;
      case "address":
        this.agent = frame.agent;
        this.send({ type: "focus", agent: frame.agent });
        break;
      case "setting":
        this.send({ type: "settings", language: this.language, mode: "button", silent: frame.name === "silent" && frame.value === 1, volume: frame.name === "volume" ? frame.value : 0 });
        break;
      case "extend":
        this.send({ type: "countdown", ends_in_s: null });
        break;
      case "end":
        this.visiting = false;
        this.language = "en";
        this.agent = "guide";
        this.send({ type: "reset", reason: "ended" });
        break;
      default:
        break;
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", this.origin).pathname;
    const socket = this.origin.replace("http", "ws");
    response.setHeader(
      "Content-Security-Policy",
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; media-src 'self'; connect-src 'self' ${socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    const json = (status: number, body: unknown) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (path === "/v1/status") {
      json(200, { server: "watchdog", sidecar: "up", socket: `${socket}/v1/visit`, staff: true, build: this.build });
    } else if (request.method === "POST") {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      this.#post(path, JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>, request, response, json);
    } else if (path === "/fallback/manifest.json") {
      json(200, fullManifest());
    } else if (path.endsWith(".wav")) {
      response.writeHead(200, { "Content-Type": "audio/wav" }).end(speech());
    } else if (path.startsWith("/fallback/media/")) {
      const drawing = picture(path.slice("/fallback/media/".length));
      response.writeHead(drawing ? 200 : 404, { "Content-Type": "image/svg+xml" }).end(drawing ?? "");
    } else {
      const file = join(STATIC, path === "/" ? "index.html" : path);
      const found = file.startsWith(STATIC) && existsSync(file);
      response.writeHead(found ? 200 : 404, { "Content-Type": TYPES[extname(file)] ?? "text/plain" });
      response.end(found ? readFileSync(file) : "");
    }
  }

  #post(
    path: string,
    body: Record<string, unknown>,
    request: IncomingMessage,
    response: ServerResponse,
    json: (status: number, body: unknown) => void,
  ): void {
    if (path === "/v1/heartbeat") {
      if (request.headers["x-wayside-token"] === TOKEN) this.beats.push(body);
      response.writeHead(204).end();
    } else if (path === "/v1/staff/unlock") {
      if (body.pin === PIN) json(200, { session: "staff-session", expires_in_s: 120 });
      else json(403, { code: "staff.wrong_pin", retry_in_s: 1 });
    } else if (path === "/v1/staff/action") {
      this.actions.push(body);
      if (body.action !== "status") return json(200, { ok: true });
      json(200, {
        components: [
          { name: "sidecar", state: "up", restarts: 0, since_s: 8400 },
          { name: "shell", state: "up", restarts: 1, since_s: 1260 },
        ],
        issues: [{ code: "audio.speaker_lost", suggestion: "Check the loudspeaker's cable." }],
        volume: -4,
      });
    } else json(404, {});
  }
}
