// What the stories about signing in at an issuer share.
import { issuer } from './kit.mjs';

/** Change how the issuer behaves; what it has seen so far. */
export async function control(change = {}) {
  const answer = await fetch(`${issuer}/control`, { method: 'POST', body: JSON.stringify(change) });
  return answer.json();
}

export const title = (page) => page.getByRole('heading', { name: 'Sign in' });
export const onward = (page) => page.getByRole('button', { name: /^Continue with 127/ });

export async function leave(page) {
  await onward(page).click();
  await page.waitForURL(`${issuer}/authorize?**`);
}

export async function signInAs(page, user) {
  await leave(page);
  await page.getByRole('link', { name: user }).click();
}

export const stored = (page) => page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
