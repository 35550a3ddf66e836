// Ten thousand passages that have been read, and one more: how long a search by meaning takes.
import { assert, eventually, open, story } from './kit.mjs';
import { backupOf, importBackup, openDocuments, panel, patient } from './documents.mjs';

const [BOOKS, PASSAGES] = [20, 500];
const queries = ['luminous animals', 'light of living things', 'what glows in the sea', 'shining fish', 'bioluminescence'];
const books = Array.from({ length: BOOKS }, (_, n) => ({ id: `doc-${n}`, title: `book ${n}.md`, text: `Book ${n}. `.padEnd(PASSAGES * 500, 'Nothing of note. ') }));
const note = { id: 'doc-note', title: 'note.md', text: 'Many creatures of the abyss shine by a chemical reaction in the skin.' };

await story(async ({ page, context }) => {
  patient(context);
  await open(page);
  await openDocuments(page);
  await importBackup(page, backupOf([...books, note]));
  // Reading so many takes a quarter of an hour: their vectors are put where reading them would have put them.
  await eventually(() => page.evaluate(furnish, [BOOKS, PASSAGES]));
  const box = panel(page).getByRole('searchbox');
  const first = panel(page).getByRole('list', { name: 'Search results' }).getByRole('listitem').first();
  await box.fill('creatures that shine');
  await panel(page).getByText('best first').waitFor({ timeout: 60_000 }); // the words of all are indexed
  await panel(page).getByRole('button', { name: 'Meaning', exact: true }).click();
  await eventually(async () => assert.match(await first.innerText(), /note\.md/), 60);
  const times = () => page.evaluate(() => performance.getEntriesByName('search by meaning').map(({ duration }) => duration));
  const before = (await times()).length;
  for (const [index, query] of queries.entries()) {
    await box.fill(query);
    await eventually(async () => assert.ok((await times()).length > before + index));
    await eventually(async () => assert.match(await first.innerText(), /note\.md/));
  }
  const took = (await times()).slice(before).sort((a, b) => a - b);
  return { passages: BOOKS * PASSAGES + 1, searches: took.length, fastest_ms: Math.round(took[0]), median_ms: Math.round(took[took.length >> 1]), slowest_ms: Math.round(took.at(-1)) };
});

async function furnish([count, passages]) {
  const opening = (name) => new Promise((done, fail) => {
    const asked = indexedDB.open(name);
    [asked.onsuccess, asked.onerror] = [() => done(asked.result), fail];
  });
  const documents = await opening('bathysphere');
  const vectors = await opening('bathysphere-meaning');
  if (!vectors.objectStoreNames.contains('documents')) throw new Error('not there yet');
  const rows = documents.transaction('documents').objectStore('documents').getAll();
  await new Promise((done) => (rows.onsuccess = done));
  const furnished = rows.result.filter((row) => row.id !== 'doc-note').slice(0, count).map(({ id, version }) => {
    const chunks = Array.from({ length: passages }, (_, at) => ({ start: at * 500, end: at * 500 + 500 }));
    const made = Float32Array.from({ length: passages * 384 }, () => Math.random() - 0.5);
    for (let at = 0; at < passages; at += 1) {
      const row = made.subarray(at * 384, at * 384 + 384);
      const length = Math.hypot(...row);
      row.forEach((value, index) => (row[index] = value / length));
    }
    return { id, version, chunks, keys: chunks.map((_, at) => `${id} ${at}`), vectors: made };
  });
  const stored = vectors.transaction('documents', 'readwrite').objectStore('documents');
  for (const row of furnished) stored.put(row);
  await new Promise((done) => (stored.transaction.oncomplete = done));
  documents.close();
  vectors.close();
}
