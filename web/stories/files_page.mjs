// The person types an address; nothing goes out before they say yes; then the page's text is a source here.
import { accessible, assert, open, story } from './kit.mjs';
import { kept, openDocuments, panel, patient } from './documents.mjs';

await story(
  async ({ page, context }) => {
    patient(context);
    const fetched = [];
    context.on('request', (request) => request.url().endsWith('/api/pages') && fetched.push(request.postDataJSON()));
    await open(page);
    await openDocuments(page);
    await panel(page).getByRole('button', { name: 'Web page' }).click();
    const address = panel(page).getByRole('textbox', { name: 'Web page address' });
    await address.fill('no address');
    await page.keyboard.press('Enter');
    await panel(page).getByText('Enter the address of a web page').waitFor();
    await address.fill('http://127.0.0.1/secret'); // the server does not go there, whoever asks
    await page.keyboard.press('Enter');
    await panel(page).getByRole('button', { name: 'Cancel' }).click();
    assert.deepEqual(fetched, []);
    await address.waitFor();
    await panel(page).getByRole('button', { name: 'Continue' }).click();
    await panel(page).getByRole('button', { name: 'Fetch page' }).click();
    await panel(page).getByRole('alert').waitFor();
    await address.fill('http://site.example/reef');
    await page.keyboard.press('Enter');
    await panel(page).getByText('Fetch site.example through this server?').waitFor();
    await accessible(page, 'a page, asked about');
    await panel(page).getByRole('button', { name: 'Fetch page' }).click();
    await panel(page).getByText('nobody has counted them').waitFor();
    await panel(page).getByText('Imported, read only').waitFor();
    assert.deepEqual(fetched, [{ url: 'http://127.0.0.1/secret' }, { url: 'http://site.example/reef' }]);
    const [source] = (await kept(page)).documents;
    assert.deepEqual([source.kind, source.title, source.origin], ['source', 'The reef', 'http://site.example/reef']);
  },
  { allows: /403 \(Forbidden\)/ },
);
