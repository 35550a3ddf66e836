// Research over five documents and the sample pages: both are quoted, and only listed passages leave.
import { ask, assert, chooseAgent, COLD, eventually, open, rest, story, url } from './kit.mjs';
import { backupOf, importBackup, kept, openDocuments, panel, patient, selectedText } from './documents.mjs';
import { recordingProxy } from './proxy.mjs';

const [quoted, record] = process.argv.slice(2);
const QUESTION = 'How deep is the reef, and how deep did the bathysphere dive?';
const TOPICS = ['reef', 'harbour', 'lantern', 'current', 'wreck'];
const MARK = /mark\d{4}/g;

/** Every sentence has a mark of its own, so that whatever leaves can be recognised. */
const documents = TOPICS.map((topic, which) => {
  const sentence = (number) => `The ${topic} is described by mark${which}${String(number).padStart(3, '0')} in my notes.`;
  const paragraphs = Array.from({ length: 30 }, (_, part) =>
    Array.from({ length: 12 }, (_, line) => sentence(part * 12 + line)).join(' '),
  );
  if (topic === 'reef') paragraphs[17] = `${quoted} ${paragraphs[17]}`;
  return { id: `doc-${topic}`, title: `${topic}.md`, text: paragraphs.join('\n\n') };
});
const marksOf = (text) => new Set(text.match(MARK) ?? []);
const { server, sent, close } = await recordingProxy(new URL(url).origin);

/** The bytes of the passages in requests, and the marks that no listed passage has. */
function leftBy(requests, listed) {
  const passages = requests
    .filter(({ body }) => body.includes('"run.start"'))
    .flatMap(({ body }) => JSON.parse(body).params.input.documents ?? []);
  const known = marksOf(listed.join('\n'));
  const everything = requests.map(({ url: address, headers, body }) => address + headers + body).join('\n');
  return { passages: passages.map(({ text }) => text), unlisted: [...marksOf(everything)].filter((mark) => !known.has(mark)) };
}

try {
  await story(
    async ({ page, context }) => {
      patient(context);
      await open(page);
      await openDocuments(page);
      await importBackup(page, backupOf(documents));
      await chooseAgent(page, 'Researcher');
      await page.locator('#composer').fill(QUESTION);
      await page.getByText('8 passages from your documents will be shared').waitFor();
      assert.deepEqual(leftBy(sent, []), { passages: [], unlisted: [] }, 'nothing leaves while a question is typed');

      await ask(page, QUESTION);
      const dock = page.getByRole('region', { name: 'Agent requests' });
      await dock.getByText('Start with this plan?').waitFor(COLD);
      await dock.getByRole('button', { name: 'Run plan' }).click();
      const report = page.locator('.report');
      await report.locator('.answer').getByText('The reef is 40 metres deep.').waitFor();
      await rest(page);

      await report.locator('button', { hasText: quoted }).click();
      await panel(page).getByRole('heading', { name: 'reef.md' }).waitFor();
      await eventually(async () => assert.equal(await selectedText(page), quoted));
      await report.locator('button', { hasText: record }).click();
      await page.locator('mark', { hasText: record }).first().waitFor();

      const { disclosures } = await kept(page);
      const listed = disclosures.map(({ text }) => text);
      const { passages, unlisted } = leftBy(sent, listed);
      assert.deepEqual(passages.sort(), listed.sort(), 'what left is what is listed');
      assert.equal(passages.length, 8);
      assert.deepEqual(unlisted, [], 'nothing else of the documents left');
      return { passages: passages.length, unlisted_bytes: unlisted.join('').length };
    },
    { proxy: { server } },
  );
} finally {
  close();
}
