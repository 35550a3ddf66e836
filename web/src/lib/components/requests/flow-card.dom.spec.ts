import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import type { Fields } from '$lib/protocol/wire';
import FlowReasons from './FlowReasons.svelte';
import { flowReasons } from './flow-reasons';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function show(value: string, excerpt = '') {
  const source = excerpt ? { tool: 'read', about: '', line: 1, excerpt, found: value } : null;
  const reason: Fields = { why: 'not_vouched', arg: 'to', value, kind: 'who', said: false, source };
  return renderInApp(appOn(), FlowReasons, { reasons: flowReasons({ flow: { reasons: [reason] } }) });
}

describe('the reasons of a request', () => {
  it('show what others wrote as text', () => {
    show('<b>DE89</b>', 'pay <b>DE89</b> <img src=x onerror=alert(1)>');
    expect(document.querySelector('mark')!.textContent).toBe('<b>DE89</b>');
    expect(document.querySelector('blockquote')!.textContent).toBe('pay <b>DE89</b> <img src=x onerror=alert(1)>');
    expect(document.querySelector('blockquote img')).toBeNull();
  });

  it('shorten a long value and show all of it on demand', async () => {
    show(`${'a'.repeat(80)}\u202eEND`);
    expect(screen.getByText(`${'a'.repeat(80)}…`)).toBeTruthy();
    await fireEvent.click(screen.getByText('Show all'));
    expect(screen.getByRole('group', { name: 'Show all' }).textContent).toBe(`${'a'.repeat(80)}⟨U+202E⟩END`);
  });
});
