// Passages of the person's documents go with a question: listed, removed, recorded, quoted and opened.
import { accessible, ask, assert, chooseAgent, COLD, eventually, open, rest, story } from './kit.mjs';
import { backupOf, importBackup, kept, openDocuments, panel, patient, selectedText } from './documents.mjs';

const quoted = process.argv[2];
const before = 'Żółw 🐢 płynie.\n\n';
const QUESTION = 'How many metres deep is the reef?';
const documents = [
  { id: 'doc-reef', title: 'reef.pdf', text: `${before}${quoted} Fish are many.`, kind: 'source', pages: [0, before.length] },
  { id: 'doc-diary', title: 'diary.md', text: 'I never liked the reef.' },
];

await story(async ({ page, context }) => {
  patient(context);
  const inputs = [];
  context.on('request', (request) => {
    const body = request.url().endsWith('/commands') ? request.postDataJSON() : null;
    if (body?.method === 'run.start') inputs.push(body.params.input);
  });
  await open(page);
  await openDocuments(page);
  await importBackup(page, backupOf(documents));
  await chooseAgent(page, 'Researcher');
  await page.locator('#composer').fill(QUESTION);
  await page.getByText('2 passages from your documents will be shared').click();
  await page.getByRole('button', { name: 'Don’t share this passage of diary.md' }).click();
  await page.getByText('1 passage from your documents will be shared').waitFor();
  await accessible(page, 'passages for a question');
  assert.deepEqual((await kept(page)).disclosures, []);

  await ask(page, QUESTION);
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Start with this plan?').waitFor(COLD);
  const { disclosures } = await kept(page);
  assert.deepEqual(inputs[0].documents.map(({ file, text }) => [file, text]), [['doc-reef', documents[0].text]]);
  assert.deepEqual(disclosures.map(({ documentId, text }) => [documentId, text]), [['doc-reef', documents[0].text]]);
  await page.getByText('1 passage from your documents was shared').waitFor();
  await dock.getByRole('button', { name: 'Run plan' }).click();

  const report = page.locator('.report');
  await report.locator('.answer').getByText('The reef is 40 metres deep.').waitFor();
  await rest(page);
  const quote = report.locator('button', { hasText: quoted });
  await quote.getByText('reef.pdf, p. 2').waitFor();
  await quote.click();
  await panel(page).getByRole('heading', { name: 'reef.pdf' }).waitFor();
  await eventually(async () => assert.equal(await selectedText(page), quoted));
});
