// Joins the reducer to the socket, the manifest and the clock. Components read `page` and call the verbs.

import { fetchStatus, postHeartbeat, reloadOnce, type ServerStatus } from "../shared/boot";
import { createLink, type Link } from "../shared/link";
import { fetchManifest, holdPictures, type Exhibit, type Manifest } from "../shared/manifest";
import { messagesFor } from "../shared/messages";
import { initial, reduce, type PageEvent } from "../shared/state";
import { createStrikeGuard, createThrottle } from "../shared/touch";
import type { ClientFrame, ServerFrame } from "../shared/wire";
import { apply, defaultPrefs, type Prefs } from "./prefs";
import { startPulse } from "./pulse";
import { createReader } from "./reader";

export type Panel = "none" | "settings" | "about" | "type" | "conversation";
type Command = Extract<ClientFrame, { id: string }>;
type Unnumbered<T> = T extends { id: string } ? Omit<T, "id"> : never;

/** A lost connection shorter than this is not worth a change of screen. */
const GRACE_MS = 300;
/** Someone who touched within this time is still there when the guide returns. */
const ENGAGED_MS = 60_000;
const STATUS_EVERY_MS = 3000;

export class Session {
  page = $state.raw(initial);
  manifest = $state.raw<Manifest | null>(null);
  server = $state.raw<ServerStatus | null>(null);
  prefs = $state.raw<Prefs>(defaultPrefs());
  panel = $state<Panel>("none");
  /** The guide has been away long enough to show the exhibits by touch. */
  fallback = $state(false);
  /** Counts resets, so that components of a finished visit are thrown away. */
  visits = $state(0);
  messages = $derived(messagesFor(this.page.language));
  exhibit = $derived(this.manifest?.exhibits.find((one) => one.id === this.page.exhibit) ?? null);

  readonly strike = createStrikeGuard();
  /** Keeps the pictures in memory while the server is away. */
  held: readonly HTMLImageElement[] = [];
  onlevel: (level: number) => void = () => undefined;

  #token: string;
  #link: Link;
  /** The first build each server named; another one later means that this page is old. */
  #builds: { status?: string; welcome?: string } = {};
  #grace: ReturnType<typeof setTimeout> | undefined;
  #activity = createThrottle(1000);
  #lastTouch = Number.NEGATIVE_INFINITY;
  #prefix = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  #commands = 0;
  #startId = "";
  #loading = false;
  #reader = createReader({
    reveal: (generation, utterance, chars) => this.#dispatch({ type: "read", generation, utterance, chars }),
    shown: (generation, utterance, chars) =>
      this.#link.send({ type: "shown", generation, utterance_id: utterance, chars }),
  });

  constructor(token: string) {
    this.#token = token;
    this.#link = createLink({
      url: () => this.server?.socket ?? `ws://${location.host}/v1/visit`,
      hello: () => ({
        type: "hello",
        token: this.#token,
        build: this.#builds.status ?? "",
        visit_token: this.page.visitToken || null,
        languages: [...navigator.languages].slice(0, 20),
      }),
      onFrame: (frame) => this.#receive(frame),
      onLink: (link) => (link === "open" ? this.#returned() : this.#away()),
    });
  }

  /** Begins; the answer ends it. */
  start(): () => void {
    this.#grace = setTimeout(() => (this.fallback = this.page.link !== "open"), 1000);
    void this.#refreshStatus().then(() => this.#link.start());
    void this.#loadManifest();
    const timer = setInterval(() => void this.#refreshStatus(), STATUS_EVERY_MS);
    const stopPulse = startPulse((frames, tick) => {
      this.#link.send({ type: "heartbeat", frames, tick });
      if (this.server?.server !== "watchdog") return;
      const body = { build: this.#builds.status ?? "", frames, tick, socket: this.page.link === "open" };
      void postHeartbeat(this.#token, body);
    });
    return () => {
      clearInterval(timer);
      stopPulse();
      this.#link.stop();
    };
  }

  get token(): string {
    return this.#token;
  }

  // --- verbs ----------------------------------------------------------------------------------------------------

  /** The first touch. */
  touch(language: string): void {
    if (this.page.phase === "visit") return;
    this.#lastTouch = performance.now();
    this.#dispatch({ type: "local_language", language });
    if (this.page.link === "open") this.#begin(language, null);
    else this.fallback = true;
  }

  command(body: Unnumbered<Command>): string {
    this.#commands += 1;
    const id = `${this.#prefix}-${this.#commands}`;
    this.#link.send({ ...body, id } as ClientFrame);
    return id;
  }

  /** A touch or key anywhere. */
  activity(): void {
    const now = performance.now();
    this.#lastTouch = now;
    if (this.page.phase === "visit" && this.#activity(now)) this.#link.send({ type: "activity" });
  }

  chooseLanguage(language: string): void {
    this.#dispatch({ type: "local_language", language });
    if (this.page.link === "open" && this.page.phase === "visit") this.command({ type: "language", language });
  }

  chooseExhibit(exhibit: Exhibit | null): void {
    this.#dispatch({ type: "local_exhibit", exhibit: exhibit?.id ?? null });
    if (this.page.link === "open") this.command({ type: "exhibit", exhibit: exhibit?.id ?? null });
  }

  prefer(prefs: Prefs): void {
    this.prefs = prefs;
    apply(prefs, this.page.language);
  }

  takeBack(): void {
    this.#dispatch({ type: "link", link: "connecting" });
    this.#link.start();
  }

  noticeSeen(): void {
    this.#dispatch({ type: "notice_seen" });
  }

  /** Nobody has touched the exhibits for a while: as at the beginning. */
  forgetFallback(): void {
    this.#dispatch({ type: "local_exhibit", exhibit: null });
    this.#dispatch({ type: "local_language", language: this.page.languages[0] ?? "en" });
    this.#forgetLocal();
  }

  async refreshStaff(): Promise<boolean> {
    await this.#refreshStatus();
    return this.server?.staff === true;
  }

  // --- what arrives ---------------------------------------------------------------------------------------------

  #dispatch(event: PageEvent): void {
    const before = this.page.language;
    this.page = reduce(this.page, event);
    if (this.page.language !== before) apply(this.prefs, this.page.language);
  }

  #receive(frame: ServerFrame): void {
    if (frame.type === "level") {
      if (frame.generation > this.page.cleared) this.onlevel(frame.level);
      return;
    }
    const engaged = this.page.phase === "visit" || this.fallback;
    const { language, exhibit } = this.page;
    this.#dispatch({ type: "frame", frame, at: performance.now() });
    switch (frame.type) {
      case "welcome":
        this.#seen("welcome", frame.build);
        if (this.manifest === null || this.manifest.release !== frame.release) void this.#loadManifest();
        // The guide came back without the visit, and someone is standing here: go on where they are.
        if (engaged && frame.visit === "" && !this.page.starting && this.#touchedRecently()) this.#begin(language, exhibit);
        this.fallback = false;
        break;
      case "snapshot":
        if (frame.phase === "attract" && engaged && !this.page.starting) this.#forgetLocal();
        break;
      case "utterance":
        if (this.page.silent && frame.generation > this.page.cleared) {
          const { utterance_id: id, text, spans } = frame;
          this.#reader.add(frame.generation, { id, text, spans, rendered: 0, state: "speaking" });
        }
        break;
      case "settings":
        if (!frame.silent) this.#reader.reset();
        break;
      case "clear":
        this.#reader.clear(frame.generation);
        this.onlevel(0);
        break;
      case "error":
        if (frame.id !== null && frame.id === this.#startId) this.#dispatch({ type: "start_refused" });
        break;
      case "reset":
      case "taken_over":
        this.#forgetLocal();
        break;
      default:
        break;
    }
  }

  #begin(language: string, exhibit: string | null): void {
    this.#dispatch({ type: "touched", language, exhibit });
    this.#startId = this.command({ type: "start", language });
    if (exhibit !== null) this.command({ type: "exhibit", exhibit });
  }

  #touchedRecently(): boolean {
    return performance.now() - this.#lastTouch < ENGAGED_MS;
  }

  #returned(): void {
    clearTimeout(this.#grace);
    this.#grace = undefined;
    this.#dispatch({ type: "link", link: "open" });
  }

  #away(): void {
    this.#reader.reset();
    this.onlevel(0);
    void this.#refreshStatus();
    this.#dispatch({ type: "link", link: "away" });
    this.#grace ??= setTimeout(() => {
      this.fallback = this.page.link === "away";
      if (this.fallback) this.panel = "none";
    }, GRACE_MS);
  }

  #forgetLocal(): void {
    this.#reader.reset();
    this.onlevel(0);
    this.panel = "none";
    this.#startId = "";
    this.#lastTouch = Number.NEGATIVE_INFINITY;
    this.visits += 1;
    this.prefer(defaultPrefs());
  }

  #seen(source: "status" | "welcome", build: string): void {
    if (build === "") return;
    const known = this.#builds[source];
    if (known === undefined) this.#builds[source] = build;
    else if (known !== build && (this.page.phase === "attract" || this.fallback)) reloadOnce(build, this.#token);
  }

  async #refreshStatus(): Promise<void> {
    const status = await fetchStatus();
    if (status === null) return;
    this.server = status;
    this.#seen("status", status.build);
  }

  async #loadManifest(): Promise<void> {
    if (this.#loading) return;
    this.#loading = true;
    for (let wait = 500; ; wait = Math.min(wait * 2, 10_000)) {
      const manifest = await fetchManifest();
      if (manifest !== null) {
        this.manifest = manifest;
        this.held = holdPictures(manifest);
        if (this.page.link !== "open") this.#dispatch({ type: "languages", languages: manifest.languages });
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    this.#loading = false;
  }
}
