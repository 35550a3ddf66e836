/** In German the verb of what is done is last, and the number of times before it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fields } from '$lib/protocol/wire';
import { newCall } from '$lib/stream/view-updates';
import { headlineOf } from '$lib/components/requests/kinds';
import type { Question } from '$lib/stream/view';
import { text } from '$lib/text';
import { text as german } from '$lib/text.de';
import { summaryOf } from './summary';

const english = { calls: text.calls, requests: text.requests };
beforeAll(() => void Object.assign(text, { calls: german.calls, requests: german.requests }));
afterAll(() => void Object.assign(text, english));

let id = 0;
const call = (name: string, args: Fields = {}, status: 'done' | 'running' = 'done') =>
  newCall('m', String(id++), { name, args, status });

it('says in German what was done and what goes on', () => {
  expect(summaryOf([call('read_file', { file_path: '/notes/essay.md' }), call('propose_node'), call('propose_node'), call('ls')])).toBe(
    '„essay.md“ gelesen, 2 Punkte in die Karte eingetragen, Dateien aufgelistet',
  );
  expect(summaryOf([call('web_search'), call('web_search')])).toBe('Zweimal im Web gesucht');
  expect(summaryOf([call('ls'), call('ls'), call('ls', {}, 'running')])).toBe('Listet 3-mal Dateien auf…');
  expect(summaryOf([call('write_file', {}, 'running')])).toBe('Schreibt eine Datei…');
  expect(summaryOf([call('send_mail'), call('send_mail')])).toBe('Send mail 2-mal benutzt');
});

it('says in German what an agent wants', () => {
  const wants = (name: string, args: Fields) => headlineOf({ type: 'tool_approval', payload: { name, args } } as unknown as Question);
  expect(wants('edit_file', { file_path: '/essay.md' })).toBe('möchte eine Datei bearbeiten: /essay.md');
  expect(wants('web_search', { query: 'waves' })).toBe('möchte im Web suchen: waves');
  expect(wants('write_user_file', {})).toBe('möchte ein Dokument schreiben');
  expect(wants('send_mail', {})).toBe('möchte „Send mail“ ausführen');
});
