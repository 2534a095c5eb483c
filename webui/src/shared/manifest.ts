// The pack's fallback: exhibits by touch, kept in memory from the first load on.

export type Wording = Readonly<Record<string, string>>;

export interface Passage {
  readonly id: string;
  readonly text: string;
  readonly speech: string | null;
  readonly sources: readonly string[];
}

export interface Exhibit {
  readonly id: string;
  readonly number: string;
  readonly title: Wording;
  readonly subtitle: Wording;
  readonly picture: string;
  readonly alt: Wording;
  readonly passages: Readonly<Record<string, readonly Passage[]>>;
}

export interface Manifest {
  readonly schema: number;
  readonly release: string;
  readonly languages: readonly string[];
  readonly title: Wording;
  readonly institution: string;
  readonly notice: Wording;
  readonly privacy: Wording;
  readonly staff_help: Wording;
  readonly exhibits: readonly Exhibit[];
}

const BASE = "/fallback/";

/** The address of a file the manifest names; anything that is not a plain path inside the pack is refused. */
export function mediaUrl(path: string | null | undefined): string | null {
  if (!path || !/^[\w][\w./-]*$/.test(path) || path.includes("..")) return null;
  return BASE + path;
}

export async function fetchManifest(): Promise<Manifest | null> {
  try {
    const response = await fetch(`${BASE}manifest.json`, { cache: "no-cache", signal: AbortSignal.timeout(4000) });
    if (!response.ok) return null;
    const body = (await response.json()) as Partial<Manifest>;
    return body.schema === 1 && Array.isArray(body.exhibits) && Array.isArray(body.languages) ? (body as Manifest) : null;
  } catch {
    return null;
  }
}

/** Loads every picture once and holds it, so that it is there when the server is not. */
export function holdPictures(manifest: Manifest): readonly HTMLImageElement[] {
  return manifest.exhibits.flatMap((exhibit) => {
    const url = mediaUrl(exhibit.picture);
    if (url === null) return [];
    const image = new Image();
    image.src = url;
    return [image];
  });
}
