import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, describe, expect, it } from 'vitest';
import type { Fields } from '$lib/protocol/wire';
import CallArguments from './CallArguments.svelte';

afterEach(cleanup);

const names = () => [...document.querySelectorAll('dt')].map((name) => name.textContent);
const show = (args: Fields) => render(CallArguments, { args });

describe('the arguments of a call', () => {
  it('that replaces text are shown as the change, with all that is no text', () => {
    show({ file_path: '/a.md', old_string: 'Dive from the north slowly.', new_string: 'Dive from the north at first light.\u202e', replace_all: true });
    expect(names()).toEqual(['file_path', 'replace_all']);
    const change = screen.getByRole('group', { name: 'Change' });
    expect(change.querySelector('del')!.textContent).toBe('removed: slowly');
    expect(change.querySelector('ins')!.textContent).toBe('added: at first light');
    expect(change.textContent).toContain('⟨U+202E⟩');
  });

  it('are all shown where they are no such text', () => {
    show({ file_path: '/a.md', old_string: 'Dive slowly.', new_string: ['Dive.'] });
    expect(names()).toEqual(['file_path', 'old_string', 'new_string']);
  });
});
