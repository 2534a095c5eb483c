// Decides which touches act. Pure; the caller brings the time in milliseconds.

/** EN 301 549 §5.8: a second strike within this time is ignored where it would act twice. */
export const DOUBLE_TOUCH_MS = 500;

/** Lets one strike per `key` through, then ignores that key for `withinMs`. */
export function createStrikeGuard(withinMs = DOUBLE_TOUCH_MS): (key: string, at: number) => boolean {
  let last: { key: string; at: number } | null = null;
  return (key, at) => {
    if (last !== null && last.key === key && at - last.at < withinMs) return false;
    last = { key, at };
    return true;
  };
}

export interface WakeGuard {
  /** The start screen was touched. */
  woke(at: number): void;
  /** The waking finger was lifted. */
  lifted(at: number): void;
  /** Whether a press at `at` still belongs to the waking touch. */
  blocks(at: number): boolean;
}

/** The touch that wakes the start screen must not press what appears under it. */
export function createWakeGuard(afterMs = DOUBLE_TOUCH_MS, longestMs = 4000): WakeGuard {
  let down: number | null = null;
  let until = Number.NEGATIVE_INFINITY;
  return {
    woke(at) {
      down = at;
      until = at + afterMs;
    },
    lifted(at) {
      if (down === null) return;
      down = null;
      until = Math.max(until, at + 60);
    },
    blocks(at) {
      // A lift that never arrives (the finger left the panel) must not lock the screen.
      if (down !== null && at - down < longestMs) return true;
      return at < until;
    },
  };
}

/** At most one `true` per `everyMs`. */
export function createThrottle(everyMs: number): (at: number) => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return (at) => {
    if (at - last < everyMs) return false;
    last = at;
    return true;
  };
}
