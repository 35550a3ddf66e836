// Opens the verifier page in Chromium, gives it proofs, and tells what a person sees.
// Arguments: the page, the browser, then proof files. Answers one JSON line.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page_path, browser_path, ...proofs] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: browser_path, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage();
  const requests = [], complaints = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(pathToFileURL(page_path).href);
  const seen = [];
  for (const proof of proofs) {
    await page.setInputFiles("#file", proof);
    await page.waitForFunction(() => ["good", "bad"].includes(document.querySelector("#verdict").className));
    const button = page.locator("#claims button").first();
    if (await button.count()) await button.click();
    seen.push({
      verdict: await page.textContent("#verdict"),
      states: await page.$$eval("#checks li", (items) => items.map((item) => item.className)),
      about: await page.textContent("#about"),
      report: await page.locator("#report").isVisible(),
      text: await page.textContent("#claims"),
      marked: await page.$$eval("#claims mark", (marks) => marks.map((mark) => mark.textContent)),
      elements: await page.$$eval("#claims *", (all) => [...new Set(all.map((one) => one.tagName))].sort()),
    });
  }
  console.log(JSON.stringify({ seen, requests, complaints, version: browser.version() }));
} finally {
  await browser.close();
}
