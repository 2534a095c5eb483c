// The guide's figure: how a level and a status become a shape. Pure maths, no canvas.
//
// It claims no lips: a thrown vessel seen from above, whose rings move with the sound that is really rendered.

export type Mood = "away" | "ready" | "listening" | "thinking" | "speaking" | "held";

export interface Figure {
  /** Seconds of its own time. */
  readonly time: number;
  /** Smoothed level, 0..1. */
  readonly energy: number;
  /** 0..1 each; moods blend into each other. */
  readonly listening: number;
  readonly thinking: number;
  readonly wake: number;
  readonly held: number;
}

export const RINGS = 7;
export const POINTS = 72;

export const resting: Figure = { time: 0, energy: 0, listening: 0, thinking: 0, wake: 1, held: 0 };

const ATTACK_S = 0.05;
const RELEASE_S = 0.22;
const BLEND_S = 0.25;

/** Advances by `dt` seconds towards `level` and `mood`. */
export function advance(figure: Figure, level: number, mood: Mood, dt: number): Figure {
  const step = Math.min(Math.max(dt, 0), 0.1);
  const target = loudness(level);
  const energy = approach(figure.energy, target, target > figure.energy ? ATTACK_S : RELEASE_S, step);
  const blend = (from: number, on: boolean) => approach(from, on ? 1 : 0, BLEND_S, step);
  const held = blend(figure.held, mood === "held");
  return {
    // Held stands still, so that waiting looks like waiting.
    time: figure.time + step * (1 - 0.9 * held),
    energy,
    listening: blend(figure.listening, mood === "listening"),
    thinking: blend(figure.thinking, mood === "thinking"),
    wake: blend(figure.wake, mood !== "away"),
    held,
  };
}

/** Whether only its breath moves. */
export function calm(figure: Figure, level: number, mood: Mood): boolean {
  const quiet = mood === "ready" || mood === "away" || mood === "held";
  return quiet && loudness(level) === 0 && Math.max(figure.energy, figure.listening, figure.thinking) < 0.01;
}

/** RMS of speech is small (about 0.05..0.3); the ear hears it logarithmically. */
export function loudness(rms: number): number {
  if (!(rms > 0.001)) return 0;
  const db = 20 * Math.log10(Math.min(rms, 1));
  return Math.min(1, Math.max(0, (db + 48) / 42));
}

/** Radius (0..1) of ring `ring` at angle `turn` (0..1). */
export function radius(figure: Figure, ring: number, turn: number): number {
  const place = ring / (RINGS - 1);
  const angle = turn * Math.PI * 2;
  const t = figure.time;
  const breath = 0.012 * Math.sin(t * 0.9 + place * 2.2);
  const voice =
    figure.energy *
    (0.05 * Math.sin(3 * angle + t * 2.1 + place * 3.1) +
      0.034 * Math.sin(5 * angle - t * 2.9 + place * 5.3) +
      0.022 * Math.sin(8 * angle + t * 4.3));
  const ripple = figure.listening * 0.022 * Math.sin(t * 3.4 + place * 6.5);
  const orbit = figure.thinking * 0.03 * Math.cos(angle - t * 2.4 - place * 0.8);
  const base = 0.2 + place * 0.66;
  const swell = figure.energy * 0.07 * (1 - place * 0.35);
  return Math.min(1, Math.max(0.02, base + breath + swell + (voice + orbit) * (0.35 + place * 0.65) + ripple));
}

function approach(from: number, to: number, seconds: number, dt: number): number {
  const next = to + (from - to) * Math.exp(-dt / seconds);
  return Math.abs(next - to) < 1e-4 ? to : next;
}
