// Paints the figure on a 2D canvas. Framework-free; few plain paths, so that a software renderer keeps up.

import { advance, calm, POINTS, radius, resting, RINGS, type Figure, type Mood } from "./figure";

const FRAME_MS = 1000 / 30;
/** Breathing alone is slow; a machine without a GPU paints the whole screen for every frame. */
const CALM_FRAME_MS = 1000 / 8;
const LONGEST_SIDE = 520;

export interface AvatarColours {
  readonly ring: string;
  readonly core: string;
  readonly quiet: string;
}

export interface Avatar {
  level(level: number): void;
  mood(mood: Mood): void;
  still(still: boolean): void;
  colours(colours: AvatarColours): void;
  destroy(): void;
}

export function createAvatar(canvas: HTMLCanvasElement): Avatar {
  let figure: Figure = resting;
  let level = 0;
  let mood: Mood = "ready";
  let still = false;
  let lost = false;
  let painted = Number.NEGATIVE_INFINITY;
  let request = 0;
  let colours: AvatarColours = { ring: "#e9a27c", core: "#f6d9c0", quiet: "#8a7a6c" };
  const context = canvas.getContext("2d");

  const onLost = (event: Event) => {
    event.preventDefault();
    lost = true;
  };
  const onRestored = () => {
    lost = false;
    repaint();
  };
  canvas.addEventListener("contextlost", onLost);
  canvas.addEventListener("contextrestored", onRestored);
  const observer = new ResizeObserver(() => {
    fit(canvas);
    repaint();
  });
  observer.observe(canvas);
  fit(canvas);

  function repaint(): void {
    if (context !== null && !lost) paint(context, canvas, figure, mood, colours);
  }

  function tick(now: number): void {
    request = 0;
    // A little slack: at 60 Hz every second frame must qualify.
    if (now - painted >= (calm(figure, level, mood) ? CALM_FRAME_MS : FRAME_MS) - 4) {
      const dt = Number.isFinite(painted) ? (now - painted) / 1000 : 0;
      painted = now;
      figure = advance(figure, level, mood, dt);
      repaint();
    }
    schedule();
  }

  function schedule(): void {
    if (!still && request === 0) request = requestAnimationFrame(tick);
  }

  schedule();
  return {
    level(next) {
      level = next;
    },
    mood(next) {
      if (next === mood) return;
      mood = next;
      if (still) settle();
    },
    still(next) {
      still = next;
      if (still) settle();
      else schedule();
    },
    colours(next) {
      colours = next;
      repaint();
    },
    destroy() {
      cancelAnimationFrame(request);
      still = true;
      observer.disconnect();
      canvas.removeEventListener("contextlost", onLost);
      canvas.removeEventListener("contextrestored", onRestored);
    },
  };

  /** A static figure that still tells the mood. */
  function settle(): void {
    cancelAnimationFrame(request);
    request = 0;
    let next: Figure = { ...resting, time: 4 };
    for (let i = 0; i < 40; i += 1) next = { ...advance(next, 0, mood, 0.1), time: 4 };
    figure = next;
    repaint();
  }
}

function fit(canvas: HTMLCanvasElement): void {
  const side = Math.min(LONGEST_SIDE, Math.max(1, Math.round(Math.min(canvas.clientWidth, canvas.clientHeight))));
  if (canvas.width === side && canvas.height === side) return;
  canvas.width = side;
  canvas.height = side;
}

function paint(
  context: CanvasRenderingContext2D,
  canvas: HTMLCanvasElement,
  figure: Figure,
  mood: Mood,
  colours: AvatarColours,
): void {
  const side = canvas.width;
  const half = side / 2;
  const reach = half * 0.97;
  context.clearRect(0, 0, side, side);
  context.lineJoin = "round";
  context.lineCap = "round";
  for (let ring = RINGS - 1; ring >= 0; ring -= 1) {
    const place = ring / (RINGS - 1);
    context.beginPath();
    for (let i = 0; i <= POINTS; i += 1) {
      const turn = i / POINTS;
      const r = radius(figure, ring, turn) * reach;
      const x = half + r * Math.cos(turn * Math.PI * 2);
      const y = half + r * Math.sin(turn * Math.PI * 2);
      if (i === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.closePath();
    context.strokeStyle = mood === "away" ? colours.quiet : place < 0.25 ? colours.core : colours.ring;
    context.globalAlpha = (0.3 + 0.6 * (1 - place) + 0.25 * figure.energy) * (0.45 + 0.55 * figure.wake);
    context.lineWidth = side * (0.006 + 0.011 * (1 - place) + 0.006 * figure.energy);
    context.setLineDash(figure.held > 0.5 && ring > 1 ? [side * 0.03, side * 0.03] : []);
    context.stroke();
    if (ring === 0) {
      context.globalAlpha = (0.5 + 0.45 * Math.max(figure.energy, figure.listening)) * figure.wake;
      context.fillStyle = colours.core;
      context.fill();
    }
  }
  context.setLineDash([]);
  if (figure.thinking > 0.02) paintOrbit(context, half, reach, figure, colours);
  context.globalAlpha = 1;
}

function paintOrbit(
  context: CanvasRenderingContext2D,
  half: number,
  reach: number,
  figure: Figure,
  colours: AvatarColours,
): void {
  context.fillStyle = colours.core;
  for (let i = 0; i < 3; i += 1) {
    const angle = figure.time * 2.4 - i * 0.5;
    context.globalAlpha = figure.thinking * (1 - i * 0.28);
    context.beginPath();
    context.arc(half + Math.cos(angle) * reach * 0.9, half + Math.sin(angle) * reach * 0.9, reach * (0.055 - i * 0.012), 0, Math.PI * 2);
    context.fill();
  }
}
