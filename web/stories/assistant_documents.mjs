// The default agent with documents: an attached PDF is asked about, a note named with @ is changed in part, two are compared.
import { readFileSync } from 'node:fs';
import { ask, assert, isOnPhone, open, rest, says, showChat, showRecord, story, url } from './kit.mjs';
import { backupOf, importBackup, kept, openDocuments, panel, patient } from './documents.mjs';
import { passagesIn, recordingProxy } from './proxy.mjs';

const reef = 'The reef is old.\n\nIt holds.\n\nFish are many.\n';
const light = 'Many creatures of the abyss glow.\n';
const diary = 'KEPT I told nobody about my debts.\n';
const { server, sent, close } = await recordingProxy(new URL(url).origin);

async function askAboutPdf(page) {
  const pdf = { name: 'The harbour.pdf', mimeType: 'application/pdf', buffer: readFileSync(process.argv[2]) };
  await showChat(page);
  await page.getByLabel('Attach files').setInputFiles(pdf);
  if (isOnPhone) await openDocuments(page);
  await panel(page).getByRole('button', { name: 'The harbour.pdf' }).first().waitFor();
  await ask(page, 'When was the harbour built?', { agent: 'Assistant' });
  await says(page, 'The harbour was built in 1871.');
}

async function changeInPart(page) {
  await page.getByRole('button', { name: 'The reef · 4 documents' }).waitFor();
  const composer = page.locator('#composer');
  await composer.fill('Make ');
  await composer.pressSequentially('@re');
  await page.getByRole('option', { name: 'reef.md', selected: true }).click();
  await composer.pressSequentially('livelier');
  await composer.press('Enter');
  await page.getByText('Make @reef.md livelier').first().waitFor();
  const card = page.getByRole('region', { name: 'Agent requests' });
  await card.getByText('Change to reef.md').waitFor();
  await card.getByRole('region', { name: 'Change 1 of 2' }).getByRole('button', { name: 'Accept' }).click();
  await card.getByRole('region', { name: 'Change 2 of 2' }).getByRole('button', { name: 'Reject' }).click();
  await card.getByRole('button', { name: 'Apply 1 of 2 changes' }).click();
  await says(page, 'I kept your fish.');
  const { versions } = await kept(page);
  const changed = versions.find(({ documentId, number }) => documentId === 'doc-reef' && number === 2);
  assert.equal(changed.text, reef.replace('old', 'ancient'));
}

async function compare(page) {
  await ask(page, 'Compare my two texts');
  await says(page, 'One is about stone, one about light.');
}

try {
  await story(
    async ({ page, context }) => {
      patient(context);
      await open(page);
      await openDocuments(page);
      const documents = [['reef', reef], ['light', light], ['diary', diary]];
      await importBackup(page, backupOf(documents.map(([name, text]) => ({ id: `doc-${name}`, title: `${name}.md`, text }))));
      await askAboutPdf(page);
      await changeInPart(page);
      await compare(page);
      await rest(page);
      await showRecord(page);
      const { disclosures } = await kept(page);
      await panel(page).getByText(`${disclosures.length} passages`).waitFor();
      await panel(page).locator('summary', { hasText: 'The harbour.pdf' }).click();
      await panel(page).getByText('p. 1 · characters 0 to 275').waitFor();
      const left = passagesIn(sent.filter(({ body }) => /"file_id"|"files"/.test(body))).sort();
      assert.deepEqual(left, disclosures.map(({ text }) => text).sort(), 'what left is what is listed');
      assert.ok(left.some((text) => text.includes('built in 1871')) && left.includes(light), 'the PDF and the note were read');
      assert.deepEqual(sent.filter(({ body }) => body.includes('KEPT')), [], 'nothing of the diary left');
    },
    { proxy: { server } },
  );
} finally {
  close();
}
