// Layouts of the in-page keyboard: rows of letters as they are on that language's keys.

export interface Layout {
  readonly rows: readonly (readonly string[])[];
}

const row = (keys: string): readonly string[] => [...keys];

const LAYOUTS: Readonly<Record<string, Layout>> = {
  en: { rows: [row("1234567890"), row("qwertyuiop"), row("asdfghjkl'"), row("zxcvbnm,.?!")] },
  es: { rows: [row("1234567890"), row("qwertyuiop"), row("asdfghjklñ"), row("zxcvbnm,.¿?"), row("áéíóúü¡!")] },
};

export function layoutFor(language: string): Layout {
  return LAYOUTS[language] ?? LAYOUTS[language.split("-")[0] ?? ""] ?? (LAYOUTS.en as Layout);
}
