import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default ts.config(
  { ignores: ["src/shared/wire.ts"] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: [".svelte"], svelteConfig } },
  },
  {
    rules: {
      // Visitors' and curators' text is inert: never parsed as HTML.
      "svelte/no-at-html-tags": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Text is inert." },
        { property: "outerHTML", message: "Text is inert." },
        { property: "insertAdjacentHTML", message: "Text is inert." },
      ],
      // Nothing of a visit is kept by the browser.
      "no-restricted-globals": ["error", "localStorage", "sessionStorage", "indexedDB", "caches"],
      "max-lines": ["error", 400],
    },
  },
  {
    // The tests look into the places where nothing may be kept.
    files: ["tests/**"],
    rules: { "no-restricted-globals": "off", "no-restricted-properties": "off" },
  },
  {
    // What eslint-plugin-svelte calls undefined are Svelte's and TypeScript's own types.
    files: ["**/*.ts", "**/*.svelte"],
    rules: { "no-undef": "off" },
  },
);
