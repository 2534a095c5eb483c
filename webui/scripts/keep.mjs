// After a build: the page also answers as index.html, and the empty folder stays in version control.
import { copyFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const out = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "backend", "wayside", "server", "static");
copyFileSync(join(out, "kiosk.html"), join(out, "index.html"));
writeFileSync(join(out, ".gitkeep"), "");
