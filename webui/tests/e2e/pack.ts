// A small pack for the tests: three exhibits, two languages, drawings of its own.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const vessel = (body: string, band: string, path: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 480"><path d="${path}" fill="${body}"/><path d="M96 250h208v34H96z" fill="${band}"/></svg>`;

const DRAWINGS: Record<string, string> = {
  "exekias-amphora.svg": vessel("#b5532a", "#1c1210", "M150 40h100l-14 70c70 40 90 120 60 200l-56 130h-80l-56-130c-30-80-10-160 60-200z"),
  "portland-vase.svg": vessel("#27395c", "#e9e4d8", "M160 50h80v60c80 40 96 160 40 250l-40 70h-80l-40-70c-56-90-40-210 40-250z"),
  "lycurgus-cup.svg": vessel("#5c7d3c", "#b03a2e", "M110 90h180c10 120-10 200-70 240v50h60v40H120v-40h60v-50c-60-40-80-120-70-240z"),
  "agent-guide.svg": vessel("#d98a58", "#5a2a15", "M60 100h280v280H60z"),
  "agent-exekias.svg": vessel("#d27a47", "#1c1512", "M100 60h200v360H100z"),
};

const exhibit = (id: string, number: string, en: string, es: string, subEn: string, subEs: string, textEn: string, textEs: string) => ({
  id,
  number,
  title: { en, es },
  subtitle: { en: subEn, es: subEs },
  picture: `media/${id}.svg`,
  alt: { en: `Drawing of the ${en}`, es: `Dibujo de ${es}` },
  passages: {
    en: [{ id: `${id}#what`, text: textEn, speech: "media/speech.wav", sources: ["British Museum, collection online"] }],
    es: [{ id: `${id}#what`, text: textEs, speech: null, sources: ["Museo Británico, colección en línea"] }],
  },
});

export const manifest = {
  schema: 1,
  release: "pottery-test",
  languages: ["en", "es"],
  title: { en: "Fourteen famous vessels", es: "Catorce vasijas célebres" },
  institution: "Wayside sample collection",
  notice: {
    en: "You are speaking with an AI guide. The microphone listens only while this sign is shown, and nothing you say is kept.",
    es: "Está hablando con una guía de inteligencia artificial. No se guarda nada de lo que diga.",
  },
  privacy: { en: "This guide is a computer program, not a person. The sound stays in this machine.", es: "Esta guía es un programa informático." },
  staff_help: { en: "Please ask a member of staff in the gallery.", es: "Diríjase a cualquier persona del equipo de sala." },
  exhibits: [
    exhibit("exekias-amphora", "1", "Exekias amphora", "Ánfora de Exequias", "Athens, about 540–530 BC. Painted terracotta.", "Atenas, hacia 540–530 a. C.", "Achilles and Ajax lean over a board game. Exekias signed it as potter and as painter.", "Aquiles y Áyax se inclinan sobre un tablero. Exequias lo firmó como alfarero y como pintor."),
    exhibit("portland-vase", "2", "Portland Vase", "Vaso Portland", "Rome, about AD 1–25. Cameo glass.", "Roma, hacia 1–25 d. C.", "White glass over dark blue, cut away until figures stood in relief. A visitor broke it in 1845.", "Vidrio blanco sobre azul oscuro. Un visitante lo rompió en 1845."),
    exhibit("lycurgus-cup", "3", "Lycurgus Cup", "Copa de Licurgo", "Roman, 4th century AD. Dichroic glass.", "Romana, siglo IV d. C.", "Green in daylight, red when light shines through: tiny particles of gold and silver do it.", "Verde a la luz del día, roja cuando la luz la atraviesa."),
  ],
};

const SAMPLE = join(import.meta.dirname, "..", "..", "..", "assets", "packs", "pottery", "media");

/** For pictures of the screens: one exhibit for every drawing of the sample pack. */
export function fullManifest(): typeof manifest {
  if (!process.env.WAYSIDE_SHOTS || !existsSync(SAMPLE)) return manifest;
  const known = manifest.exhibits.map((one) => one.id);
  const others = readdirSync(SAMPLE)
    .filter((name) => name.endsWith(".svg") && !name.startsWith("agent-") && !known.includes(name.slice(0, -4)))
    .map((name, index) => {
      const id = name.slice(0, -4);
      const title = id.split("-").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" ");
      return exhibit(id, String(index + 4), title, title, "", "", title, title);
    });
  return { ...manifest, exhibits: [...manifest.exhibits, ...others] };
}

/** Pictures of the sample pack where they are wanted, else the drawings above. */
export function picture(name: string): string | null {
  const real = join(SAMPLE, name);
  if (process.env.WAYSIDE_SHOTS && existsSync(real)) return readFileSync(real, "utf8");
  return DRAWINGS[name] ?? null;
}

/** Two seconds of silence. */
export function speech(): Buffer {
  const rate = 8000;
  const data = Buffer.alloc(rate * 2 * 2);
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + data.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}
