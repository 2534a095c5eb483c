// The watchdog's staff endpoints (docs/contracts.md). The PIN passes through and is not kept.

export type Unlock =
  | { readonly kind: "open"; readonly session: string }
  | { readonly kind: "wrong"; readonly retryIn: number }
  | { readonly kind: "locked"; readonly retryIn: number }
  | { readonly kind: "failed" };

export interface Component {
  readonly name: string;
  readonly state: string;
  readonly restarts: number;
  readonly since_s: number;
}

export interface Issue {
  readonly code: string;
  readonly suggestion: string;
}

export interface StaffStatus {
  readonly components: readonly Component[];
  readonly issues: readonly Issue[];
  readonly volume: number | null;
}

export type Outcome = { readonly kind: "ok"; readonly body: unknown } | { readonly kind: "locked" } | { readonly kind: "failed"; readonly message: string };

export async function unlock(token: string, pin: string): Promise<Unlock> {
  const answer = await post("/v1/staff/unlock", token, { pin });
  if (answer === null) return { kind: "failed" };
  const { status, body } = answer;
  const retryIn = typeof body.retry_in_s === "number" ? Math.ceil(body.retry_in_s) : 0;
  if (status === 200 && typeof body.session === "string") return { kind: "open", session: body.session };
  if (status === 429) return { kind: "locked", retryIn };
  if (status === 403 && body.code === "staff.wrong_pin") return { kind: "wrong", retryIn };
  return { kind: "failed" };
}

export async function act(token: string, session: string, action: string, value?: string | number): Promise<Outcome> {
  const answer = await post("/v1/staff/action", token, value === undefined ? { session, action } : { session, action, value });
  if (answer === null) return { kind: "failed", message: "" };
  if (answer.status === 401 || answer.status === 403) return { kind: "locked" };
  if (answer.status !== 200 || answer.body.code !== undefined) {
    return { kind: "failed", message: typeof answer.body.message === "string" ? answer.body.message : "" };
  }
  return { kind: "ok", body: answer.body };
}

async function post(path: string, token: string, body: object): Promise<{ status: number; body: Record<string, unknown> } | null> {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Wayside-Token": token },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    });
    const answer: unknown = await response.json();
    return { status: response.status, body: typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : {} };
  } catch {
    return null;
  }
}
