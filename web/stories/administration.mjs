// An administrator finds the page in the menu, acts, and reads it in the audit log; nobody else has the page.
import { accessible, assert, everyForm, story, url } from './kit.mjs';
import { signInAs, onward } from './issuer_kit.mjs';

const link = (page) => page.getByRole('link', { name: 'Administration' });

await story(
  async ({ page }) => {
    await page.goto(url);
    await onward(page).waitFor();
    await signInAs(page, 'ada');
    await page.getByText('Signed in as ada of acme').waitFor();
    await link(page).click();
    await page.getByRole('heading', { level: 1, name: 'Administration' }).waitFor();
    assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
    const keys = page.getByRole('region', { name: 'API keys' });
    await keys.getByLabel('Tenant').fill('acme');
    await keys.getByLabel('User').fill('robot');
    await keys.getByLabel('Label').fill('for a story');
    await keys.getByRole('button', { name: 'Create key' }).click();
    await keys.getByText('it will not be shown again').waitFor();
    assert.match(await keys.locator('code').innerText(), /^bsk_/);
    await keys.getByRole('button', { name: 'Revoke the key of robot' }).first().click();
    const budgets = page.getByRole('region', { name: 'Budgets' });
    await budgets.getByLabel('Tenant').fill('acme');
    await budgets.getByLabel('Amount').fill('2000000');
    await budgets.getByRole('button', { name: 'Set budget' }).click();
    await budgets.getByText('2,000,000 tokens').waitFor();
    const audit = page.getByRole('region', { name: 'Audit log' });
    for (const words of ['Created a key', 'Revoked a key', 'Set a budget']) await audit.getByText(words).first().waitFor();
    await accessible(page, 'administration');
    await everyForm(page, 'administration');
    await page.getByRole('button', { name: 'Sign out' }).click();

    await onward(page).waitFor();
    await signInAs(page, 'eve');
    await page.getByText('Signed in as eve of acme').waitFor();
    assert.equal(await link(page).count(), 0);
    await page.goto(`${url}/administration`);
    await page.getByText('This page is for administrators.').waitFor();
  },
  { allows: /401/ },
);
