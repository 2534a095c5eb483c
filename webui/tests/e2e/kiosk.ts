// One browser for all flows; one page and one mock per flow.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { chromium } from "playwright-core";
import { Mock, TOKEN } from "./mock";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const PORTRAIT = { width: 1080, height: 1920 };
export const LANDSCAPE = { width: 1920, height: 1080 };

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.WAYSIDE_CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--autoplay-policy=no-user-gesture-required",
    ],
  });
}

export interface Kiosk {
  readonly page: Page;
  readonly mock: Mock;
  /** Errors of the page and violations of its policy. */
  readonly faults: string[];
  close(): Promise<void>;
}

export async function open(browser: Browser, viewport = PORTRAIT, prepare?: (mock: Mock) => void): Promise<Kiosk> {
  const mock = new Mock();
  prepare?.(mock);
  const origin = await mock.start();
  const context = await browser.newContext({ viewport, locale: "en-GB", hasTouch: true });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !/WebSocket|ERR_CONNECTION|403/.test(text)) faults.push(text);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin)) mock.outside.push(request.url());
  });
  await page.goto(`${origin}/#token=${TOKEN}`);
  await page.locator(".begin").first().waitFor();
  return {
    page,
    mock,
    faults,
    async close() {
      await context.close();
      await mock.stop();
    },
  };
}

/** Begins a visit and waits until the waking touch is over. */
export async function begin(kiosk: Kiosk): Promise<void> {
  await until(() => kiosk.mock.page !== null);
  await kiosk.page.mouse.click(500, 300);
  await kiosk.page.locator(".choice").first().waitFor();
  await kiosk.page.waitForTimeout(600);
}

export async function until(condition: () => boolean, withinMs = 5000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function axe(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const run = (window as unknown as { axe: { run: (context: Document, options: object) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }> } }).axe;
    const result = await run.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "cat.color"],
      rules: { "color-contrast-enhanced": { enabled: true } },
    });
    return result.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`));
  });
}
