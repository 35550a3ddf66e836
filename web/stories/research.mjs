// From a question to a proof: a plan is refused, mended and approved, read, quoted, exported, checked.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible, ask, assert, COLD, eventually, open, rest, shoot, showChat, showSteps, story, url } from './kit.mjs';
import { everyForm } from './views.mjs';

const folder = process.argv[2];
const FORMATS = { Markdown: 'md', HTML: 'html', Word: 'docx', PDF: 'pdf' };

await story(async ({ page, context }) => {
  await open(page);
  await ask(page, 'How deep did the bathysphere go?', { agent: 'Researcher' });
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Start with this plan?').waitFor(COLD);
  await dock.getByText('Passed the policy check').waitFor();
  await everyForm(page, 'research-plan');

  // Refused with a reason: the next plan has it.
  await dock.getByRole('button', { name: 'Reject' }).click();
  await dock.getByRole('textbox').fill('Also say who made it.');
  await dock.getByRole('button', { name: 'Reject' }).click();
  await dock.getByText('who designed the bathysphere').waitFor();

  // An edit that the policy forbids comes back with the rule, and cannot be approved.
  await dock.getByRole('button', { name: 'Edit plan' }).click();
  await dock.getByRole('textbox', { name: 'step 1' }).fill('the home address of William Beebe');
  await dock.getByRole('button', { name: 'Use this plan' }).click();
  await dock.getByText('The plan looks for private facts about a person.').waitFor();
  await dock.getByText('rule content.private-person, step 1').first().waitFor();
  await dock.getByText('Ask for what the person did in public.').waitFor();
  assert.equal(await dock.getByRole('button', { name: 'Run plan' }).count(), 0);
  await accessible(page, 'audit');
  await shoot(page, 'research-audit-desktop-light');

  // A good edit runs at once: each step has its bar.
  await dock.getByRole('button', { name: 'Edit plan' }).click();
  await dock.getByRole('textbox', { name: 'step 1' }).fill('slowly: bathysphere record depth 1934');
  await dock.getByRole('button', { name: 'Use this plan' }).click();
  const run = page.getByRole('region', { name: 'Research progress' });
  const steps = run.getByRole('listitem').filter({ has: page.locator('progress') });
  await steps.first().getByText('working').waitFor();
  await steps.nth(1).getByText('waiting').waitFor();
  await shoot(page, 'research-progress-desktop-light');

  // What the model wants beyond the plan comes as a difference, with only the new step marked.
  await dock.getByText('Add these steps to the plan?').waitFor();
  const fresh = dock.getByRole('listitem').filter({ hasText: 'new' });
  assert.equal(await fresh.count(), 1);
  await fresh.getByText('steel cable of the bathysphere').waitFor();
  assert.equal(await run.getByText('done', { exact: true }).count(), 2);
  await accessible(page, 'difference');
  await shoot(page, 'research-difference-desktop-light');
  await dock.getByRole('button', { name: 'Run plan' }).click();

  // The report: what stands, what does not, and where sources disagree.
  const report = page.locator('.report');
  const answer = report.locator('.answer');
  await answer.getByText('The bathysphere went down to 923 metres in 1934.').waitFor();
  await report.getByText('Otis Barton designed it and paid for it.').waitFor();
  await rest(page);
  assert.equal(await answer.getByText('It was painted red.').count(), 0);
  assert.equal(await report.getByText('It was painted red.').isVisible(), false, 'folded');
  await answer.getByRole('button', { name: 'Show in source 1:' }).first().click();
  await page.locator('mark.chosen').waitFor();
  await showChat(page);
  await answer.getByText('does not follow from its quotes: the day differs').waitFor();
  assert.equal(await report.getByText('Judged by a model: follows from its quotes').count(), 1);
  await report.getByText('Not supported (1)').click();
  await report.getByText('It was painted red.').waitFor();
  await report.getByRole('heading', { name: 'Where sources disagree' }).waitFor();
  assert.equal(await report.locator('button', { hasText: '1,200 metres' }).count(), 1);
  await page.getByText('3 steps done').waitFor();

  // A quote opens its source as it was read, at the very words.
  const quote = report.locator('button', { hasText: 'Otis Barton, an engineer' });
  await quote.click();
  const mark = page.locator('mark.chosen');
  await mark.waitFor();
  assert.equal(await mark.innerText(), 'Otis Barton, an engineer, designed the bathysphere and paid for it.');
  await eventually(async () => assert.ok(await inSight(mark), 'the words are in sight'));
  await everyForm(page, 'research-report', { panel: 'Sources' });
  await showSteps(page);
  await page.getByText('The person rejected the plan: Also say who made it.').waitFor();
  await accessible(page, 'trace');
  await showChat(page);

  // Every format is a file; the proof is checked by a page that needs nobody.
  for (const [label, ending] of Object.entries(FORMATS)) await save(page, label, ending);
  await save(page, 'Proof (.zip)', 'zip');
  const [verifier] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: 'Verify a report' }).click()]);
  await verifier.waitForLoadState();
  assert.equal(verifier.url(), `${url}/verify`);
  await context.setOffline(true);
  await verifier.locator('#file').setInputFiles(join(folder, 'report.zip'));
  await verifier.getByText('All checks passed.').waitFor();
  await verifier.getByText('The bathysphere went down to 923 metres in 1934.').first().waitFor();
  await accessible(verifier, 'a proof that holds');
  await shoot(verifier, 'verify-desktop-light');
  const tampered = tamper(readFileSync(join(folder, 'report.zip')));
  writeFileSync(join(folder, 'tampered.zip'), tampered);
  await verifier.locator('#file').setInputFiles(join(folder, 'tampered.zip'));
  await verifier.getByText('This proof is not valid.').waitFor();
  const failed = await verifier.locator('li.failed').allInnerTexts();
  await accessible(verifier, 'a proof that does not hold');
  await context.setOffline(false);
  return { failed };
}, { patience: 40_000, allows: /ERR_INTERNET_DISCONNECTED/ });

async function save(page, label, ending) {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('region', { name: 'Export' }).getByRole('button', { name: label, exact: true }).click(),
  ]);
  assert.equal(file.suggestedFilename(), `how-deep-did-the-bathysphere-go.${ending}`);
  await file.saveAs(join(folder, `report.${ending}`));
}

/** One word of a source is another. */
function tamper(zip) {
  const changed = Buffer.from(zip);
  const at = changed.indexOf('an engineer, designed');
  assert.ok(at > 0, 'the file is not compressed');
  changed.write('no', at);
  return changed;
}

function inSight(locator) {
  return locator.evaluate((node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
}
