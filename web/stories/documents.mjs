// What stories about documents share: the panel, a backup with documents in it, pictures for the eye.
import { createHash } from 'node:crypto';
import { assert, eventually, showPanel } from './kit.mjs';

const AT = Date.UTC(2026, 10, 1);
const versionOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** A backup as the app makes it: one project, with documents whose ids a script can know. */
export function backupOf(documents) {
  const rows = documents.map(({ id, title, text, kind = 'document', pages }) => ({
    id, projectId: 'project-1', title, kind, type: 'markdown', version: versionOf(text), number: 1,
    characters: [...text].length, createdAt: AT, changedAt: AT, origin: '', pages,
  }));
  const versions = documents.map(({ id, text }) => ({
    documentId: id, number: 1, version: versionOf(text), text, at: AT, by: 'import', why: '', isKept: true,
  }));
  const projects = [{ id: 'project-1', name: 'The reef', createdAt: AT }];
  const whole = { format: 'bathysphere-workspace', version: 1, at: AT, projects, documents: rows, versions, disclosures: [], talks: [] };
  return { name: 'backup.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(whole)) };
}

/** A model of 23 MB is loaded, and the machine may have other work. */
export const patient = (context) => context.setDefaultTimeout(45_000);

export const panel = (page) => page.getByRole('tabpanel');

export async function openDocuments(page) {
  await showPanel(page, 'Documents');
  await panel(page).getByText('Drop files here').waitFor();
}

export async function importBackup(page, file) {
  const summary = panel(page).locator('summary', { hasText: 'Backup' });
  const input = page.getByLabel('Import a backup');
  // The list above is drawn late and moves the line that is clicked.
  await eventually(async () => {
    if (!(await input.isVisible())) await summary.click();
    assert.ok(await input.isVisible());
  });
  await input.setInputFiles(file);
  await panel(page).getByText('Imported:').waitFor();
}

/** What is in the page's own database, by table. */
export function kept(page) {
  return page.evaluate(async () => {
    const opened = indexedDB.open('bathysphere');
    const db = await new Promise((done, fail) => ((opened.onsuccess = () => done(opened.result)), (opened.onerror = fail)));
    const found = {};
    for (const name of db.objectStoreNames) {
      const asked = db.transaction(name).objectStore(name).getAll();
      found[name] = await new Promise((done) => (asked.onsuccess = () => done(asked.result)));
    }
    db.close();
    return found;
  });
}

/** Drop a file as a person does. */
export async function dropFile(page, name, type, bytes) {
  const dataTransfer = await page.evaluateHandle(
    ([title, kind, letters]) => {
      const transfer = new DataTransfer();
      const content = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
      transfer.items.add(new File([content], title, { type: kind }));
      return transfer;
    },
    [name, type, Buffer.from(bytes).toString('base64')],
  );
  const zone = panel(page).locator('label', { hasText: 'Drop files here' });
  await zone.dispatchEvent('dragover', { dataTransfer });
  await zone.dispatchEvent('drop', { dataTransfer });
}

/** What is selected in the editor, which lives in a shadow root. */
export function selectedText(page) {
  return page.evaluate(() => {
    const root = document.querySelector('#panel .code')?.shadowRoot;
    return root?.getSelection?.()?.toString() ?? '';
  });
}
