// How long to wait before the next try of a lost connection. Pure.

export const FIRST_MS = 250;
export const LONGEST_MS = 5000;

/** Wait before try number `attempt` (0 = the first after a loss). */
export function backoffMs(attempt: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(attempt, 0), 16));
}
