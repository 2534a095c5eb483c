// Picks the wording of a language. A pack may offer languages the page has no wording for; those read in English.

import { en, type Messages } from "./en";
import { es } from "./es";

export type { Messages } from "./en";

const TABLES: Readonly<Record<string, Messages>> = { en, es };

export function messagesFor(language: string): Messages {
  return TABLES[language] ?? TABLES[language.split("-")[0] ?? ""] ?? en;
}

/** The name of a language in that language. */
export function languageName(language: string): string {
  const table = TABLES[language];
  if (table) return table.name;
  return new Intl.DisplayNames([language], { type: "language" }).of(language) ?? language;
}

/** Words a code: exact first, then its dotted prefixes (`audio.microphone_lost` → `audio.microphone` → `audio`). */
export function wordCode(messages: Messages, code: string): string {
  const exact = messages.notices[code];
  if (exact) return exact;
  const family = Object.keys(messages.notices)
    .filter((key) => code.startsWith(key))
    .sort((a, b) => b.length - a.length)[0];
  return (family && messages.notices[family]) ?? messages.notices.general ?? "";
}

/** A wording of the pack in `language`, else in its first language. */
export function localised(text: Readonly<Record<string, string>> | undefined, language: string): string {
  if (!text) return "";
  return text[language] ?? Object.values(text)[0] ?? "";
}
