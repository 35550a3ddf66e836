import { fireEvent, screen } from '@testing-library/svelte';
import { describe, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import type { Question } from '$lib/stream/view';
import ClarifyCard from './ClarifyCard.svelte';

const question = (payload: Question['payload']): Question => ({
  id: 'q',
  type: 'clarification_request',
  payload,
  schema: null,
  namespace: [],
  callId: null,
});

describe('the card of a clarification', () => {
  it('lets several be chosen where several may be', async () => {
    const onanswer = vi.fn();
    const options = ['red', 'white', 'blue'].map((id) => ({ id, label: id }));
    const payload = { question: 'Which lights?', options, allow_multiple: true };
    renderInApp(appOn(), ClarifyCard, { question: question(payload), onanswer });
    await fireEvent.click(screen.getByLabelText(/red/));
    await fireEvent.click(screen.getByLabelText(/blue/));
    await fireEvent.click(screen.getByLabelText(/red/));
    await fireEvent.click(screen.getByRole('button', { name: 'Send' }));
    expect(onanswer).toHaveBeenCalledWith({ selected: ['blue'] });
  });
});
