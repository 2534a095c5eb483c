// How this visitor likes the page. Back to default at reset; never stored.

export type Theme = "dark" | "light" | "contrast";

export interface Prefs {
  readonly scale: number;
  readonly theme: Theme;
  readonly still: boolean;
  readonly captions: boolean;
  readonly reach: boolean;
}

export const SCALES: readonly number[] = [1, 1.25, 1.5, 2];
export const THEMES: readonly Theme[] = ["dark", "light", "contrast"];

export function defaultPrefs(): Prefs {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const contrast = matchMedia("(prefers-contrast: more)").matches;
  return { scale: 1, theme: contrast ? "contrast" : "dark", still, captions: true, reach: false };
}

export function scaled(prefs: Prefs, by: -1 | 1): Prefs {
  const at = SCALES.indexOf(prefs.scale) + by;
  return { ...prefs, scale: SCALES[Math.min(Math.max(at, 0), SCALES.length - 1)] ?? 1 };
}

/** Puts the preferences on the root element, where the style sheet reads them. */
export function apply(prefs: Prefs, language: string): void {
  const root = document.documentElement;
  root.lang = language;
  root.dataset.theme = prefs.theme;
  root.dataset.motion = prefs.still ? "still" : "calm";
  root.dataset.large = String(prefs.scale >= 1.5);
  root.dataset.reach = String(prefs.reach);
  root.style.setProperty("--scale", String(prefs.scale));
}
