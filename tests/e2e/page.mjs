// Drives the built page in Chromium: node page.mjs FOLDER_OF_NODE_MODULES URL PICTURES WIDTH HEIGHT. Prints what was seen.

import { createRequire } from "node:module";

const [modules, url, pictures, width, height] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.WAYSIDE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
});
const seen = { faults: [], outside: [] };
try {
  const context = await browser.newContext({
    viewport: { width: Number(width), height: Number(height) },
    locale: "en-GB",
    hasTouch: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.on("pageerror", (error) => seen.faults.push(String(error)));
  page.on("console", (message) => message.type() === "error" && seen.faults.push(message.text()));
  page.on("request", (request) => request.url().startsWith(new URL(url).origin) || seen.outside.push(request.url()));
  const shot = (name) => page.screenshot({ path: `${pictures}/${width}-${name}.png` });

  await page.goto(url);
  await page.locator(".begin").first().waitFor();
  seen.address = page.url();
  await page.waitForTimeout(1500);
  await shot("1-attract");
  await page.locator(".begin").first().tap();
  await page.locator(".choice").first().waitFor();
  await page.waitForTimeout(800);
  await shot("2-gallery");
  seen.question = await page.locator(".choice").first().innerText();
  await page.locator(".choice").first().tap();
  await page.locator(".caption .heard").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".caption .heard").textContent.length > 0);
  await page.locator(".captions .sources").waitFor();
  await page.waitForTimeout(800);
  seen.caption = await page.locator(".caption").innerText();
  seen.sources = await page.locator(".captions .sources").innerText();
  seen.pictures = await page.evaluate(() =>
    [...document.images].filter((one) => one.complete && one.naturalWidth > 0 && one.offsetWidth > 100).length,
  );
  seen.plate = await page.locator(".plate").count();
  await shot("3-answer");
  await page.waitForTimeout(6000);
  seen.history = await page.getByTestId("transcript").first().innerText().catch(() => "");
  await shot("4-later");
  await page.getByRole("button", { name: /^end/i }).first().tap();
  await page.locator(".begin").first().waitFor();
  await page.waitForTimeout(800);
  seen.after = await page.evaluate(() => document.documentElement.outerHTML);
  seen.stored = await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length);
  await shot("5-attract-again");
} finally {
  await browser.close();
  console.log(JSON.stringify(seen));
}
