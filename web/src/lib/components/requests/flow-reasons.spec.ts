import { describe, expect, it } from 'vitest';
import type { Fields } from '$lib/protocol/wire';
import { flowReasons, sourcesToTrust } from './flow-reasons';

const payload = (...reasons: Fields[]): Fields => ({ flow: { reasons } });

describe('the reasons of a request', () => {
  it('are none where there are none', () => {
    expect([flowReasons(null), flowReasons({}), flowReasons({ flow: 1 }), flowReasons({ flow: { reasons: 'x' } })]).toEqual([[], [], [], []]);
  });

  it('mark the value in its passage, with invisible characters shown', () => {
    const source = { tool: 'read', about: '', line: 1, excerpt: 'pay DE\u200b89 now', found: 'DE\u200b89' };
    const [reason] = flowReasons(payload({ why: 'not_vouched', arg: 'to', value: 'x', kind: 'who', said: false, source }));
    expect(reason!.source!.passage).toEqual(['pay ', 'DE⟨U+200B⟩89', ' now']);
  });

  it('show the passage unmarked where the value is not in it', () => {
    const source = { tool: 'constructor', about: '', line: 1, excerpt: 'pay now', found: 'DE89' };
    const [reason] = flowReasons(payload({ why: 'address', arg: 'to', value: 'x', kind: 'toString', said: false, source }));
    expect(reason!.source!.passage).toEqual(['pay now', '', '']);
    expect(reason!.text).toBe('this value for “to” came from the result of “constructor”, line 1; you did not mention it.');
  });

  it('name each source that can be trusted once', () => {
    const reason = (source: Fields) => ({ why: 'not_vouched', arg: 'to', value: 'x', kind: 'who', said: false, source });
    const page = { id: 's1', tool: 'fetch_page', about: 'a.example', line: 1, excerpt: '', found: '' };
    const reasons = flowReasons(payload(reason(page), reason({ ...page, line: 2 }), reason({ ...page, id: null })));
    expect(sourcesToTrust(reasons)).toEqual([{ id: 's1', name: 'the web page a.example' }]);
  });

  it('say where a passage stands in a document', () => {
    const document = { file: 'doc-1', title: 'Bill', start: 3, end: 7, quote: 'DE89' };
    const source = { tool: 'read_user_file', about: '', line: 1, excerpt: 'DE89', found: 'DE89', document };
    const [reason] = flowReasons(payload({ why: 'not_vouched', arg: 'to', value: 'x', kind: 'who', said: false, source }));
    expect(reason!.source!.document).toEqual({ file: 'doc-1', version: '', start: 3, end: 7, quote: 'DE89' });
  });
});
