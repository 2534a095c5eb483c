// The page's token and what serves it (docs/contracts.md). Nothing here is ever stored by the browser.

export interface ServerStatus {
  readonly server: "watchdog" | "sidecar";
  readonly sidecar: "up" | "starting" | "down" | "safe_mode";
  readonly socket: string;
  readonly staff: boolean;
  readonly build: string;
}

declare global {
  interface Window {
    __WAYSIDE__?: { token?: string };
  }
}

/** From the shell, or from `#token=…`, which is then removed from the address bar. */
export function takeToken(): string {
  const given = window.__WAYSIDE__?.token;
  if (typeof given === "string" && given !== "") return given;
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (location.hash !== "") history.replaceState(history.state, "", location.pathname + location.search);
  return token;
}

export async function fetchStatus(): Promise<ServerStatus | null> {
  try {
    const response = await fetch("/v1/status", { cache: "no-store", signal: AbortSignal.timeout(1500) });
    if (!response.ok) return null;
    const body = (await response.json()) as Partial<ServerStatus>;
    return typeof body.socket === "string" && /^wss?:\/\//.test(body.socket) ? (body as ServerStatus) : null;
  } catch {
    return null;
  }
}

export async function postHeartbeat(token: string, body: object): Promise<void> {
  try {
    await fetch("/v1/heartbeat", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Wayside-Token": token },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(2500),
    });
  } catch {
    // The watchdog counts missing beats itself.
  }
}

/** Reloads for another build, once: `history.state` remembers for which build, and survives the reload. */
export function reloadOnce(build: string, token: string): void {
  const state = history.state as { reloadedFor?: string } | null;
  if (state?.reloadedFor === build) return;
  const hash = window.__WAYSIDE__?.token ? "" : `#token=${encodeURIComponent(token)}`;
  history.replaceState({ reloadedFor: build }, "", location.pathname + location.search + hash);
  location.reload();
}
