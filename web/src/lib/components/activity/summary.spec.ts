import { expect, it } from 'vitest';
import type { Fields } from '$lib/protocol/wire';
import type { Call } from '$lib/stream/view';
import { newCall } from '$lib/stream/view-updates';
import { text } from '$lib/text';
import { summaryOf } from './summary';

let id = 0;
const call = (name: string, args: Fields = {}, over: Partial<Call> = {}): Call =>
  newCall('m', String(id++), { name, args, status: 'done', ...over });
const read = (path: string, over: Partial<Call> = {}) => call('read_file', { file_path: path }, over);
const point = () => call('propose_node', { text: 'Deep water is cold.' });

it('says what was done, in the order in which each tool came first', () => {
  expect(summaryOf([read('/notes/essay.md'), point(), point(), call('ls'), point()])).toBe(
    'Read essay.md, added 3 points to the map, listed files',
  );
  expect(summaryOf([call('propose_relation')])).toBe('Made a connection on the map');
});

it('counts the calls of a tool', () => {
  expect(summaryOf([call('web_search', { query: 'waves' })])).toBe('Searched the web');
  expect(summaryOf([call('web_search'), call('web_search')])).toBe('Searched the web twice');
  expect(summaryOf([call('grep'), call('grep'), call('grep')])).toBe('Searched files 3 times');
  expect(summaryOf([call('fetch_page', { url: 'https://a.example' }), call('fetch_page', { url: 'https://b.example' })])).toBe(
    'Read 2 web pages',
  );
});

it('counts files, not the calls about each', () => {
  expect(summaryOf([read('/essay.md'), read('/essay.md')])).toBe('Read essay.md');
  expect(summaryOf([read('/a/essay.md'), read('/b/essay.md'), read('/a/essay.md')])).toBe('Read 2 files');
});

it('names a document by its title, and does not name it where that is unknown', () => {
  const document = { file_id: 'doc-0b9c38df01' };
  expect(summaryOf([call('read_user_file', document, { result: '{"title": "Essay.md"}' })])).toBe('Read Essay.md');
  expect(summaryOf([call('patch_user_file', document)])).toBe('Edited a document');
  expect(summaryOf([call('read_user_file', document), call('read_user_file', { file_id: 'doc-0b9c38df02' })])).toBe(
    'Read 2 documents',
  );
});

it('tells what goes on last, in the present', () => {
  const running = read('/essay.md', { status: 'running' });
  expect(summaryOf([running])).toBe('Reading essay.md…');
  expect(summaryOf([running, call('ls')])).toBe('Listed files, reading essay.md…');
  expect(summaryOf([call('write_file', {}, { args: null, argsText: '{"fi', status: 'writing' })])).toBe('Writing a file…');
});

it('has words for a tool that it does not know', () => {
  expect(summaryOf([call('send_mail')])).toBe('Used Send mail');
  expect(summaryOf([call('send_mail'), call('send_mail', {}, { status: 'running' })])).toBe('Using Send mail 2 times…');
});

it('cuts a long name', () => {
  expect(summaryOf([read(`/${'x'.repeat(200)}.md`)])).toBe(`Read ${'x'.repeat(60)}…`);
});

it('has words of its own for every tool with a title, but those that ask', () => {
  const asking = ['ask_user', 'ask_choices'];
  expect(Object.keys(text.calls.titles).filter((name) => !(name in text.calls.actions))).toEqual(asking);
});
