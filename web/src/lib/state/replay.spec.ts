import { describe, expect, it, vi } from 'vitest';
import tour from '../../../tests/fixtures/tour.json';
import type { WireEvent } from '$lib/protocol/wire';
import { reduce } from '$lib/stream/reducer';
import { emptyView, newMessage, ROOT, type View } from '$lib/stream/view';
import { Replay } from './replay';

const TOUR = tour as unknown as WireEvent[];
const whole = TOUR.reduce(reduce, emptyView());
const texts = (view: View) => view.agents[ROOT]!.messages.map(({ text }) => text);

function all(replay: Replay, events: readonly WireEvent[]): Replay {
  for (const event of events) replay.take(event);
  replay.drain();
  return replay;
}

describe('a replay', () => {
  it('takes every event once, whichever connection brings it', () => {
    const replay = new Replay({ view: emptyView() });
    const half = TOUR.slice(0, 40);
    all(replay, half);
    const taken = TOUR.flatMap((event) => [replay.take(event), replay.take(event)]).filter(Boolean);
    replay.drain();
    expect(taken).toHaveLength(TOUR.length - half.length);
    expect(texts(replay.view)).toEqual(texts(whole));
  });

  it('takes a snapshot whatever its number', () => {
    const replay = all(new Replay({ view: emptyView() }), TOUR);
    expect(replay.take({ ...TOUR[0]!, seq: 1, event_id: '1@snapshot' })).toBe(true);
  });

  it('shows the state until the log has caught up with it, and what was sent meanwhile after it', () => {
    const position = TOUR.at(-1)!.seq;
    const replay = new Replay({ view: whole, position });
    all(replay, TOUR.slice(0, 10));
    expect(replay.isCatchingUp).toBe(true);
    expect(replay.view).toBe(whole);
    replay.edit((messages) => [...messages, newMessage('new', 'human', { text: 'And now?', isPending: true })]);
    all(replay, TOUR.slice(10));
    expect(replay.isCatchingUp).toBe(false);
    expect(texts(replay.view)).toEqual([...texts(whole), 'And now?']);
  });

  it('has caught up when the log falls silent', () => {
    const replay = new Replay({ view: whole, position: TOUR.at(-1)!.seq + 100 });
    all(replay, TOUR);
    expect(replay.isCatchingUp).toBe(true);
    replay.settle();
    expect([replay.isCatchingUp, texts(replay.view)]).toEqual([false, texts(whole)]);
  });

  it('skips and counts an event that cannot be applied, and applies the rest', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const broken: WireEvent = { ...TOUR[5]!, method: 'messages', params: { namespace: [], timestamp: 1, data: null } };
    const events = TOUR.map((event, index) => (index === 5 ? { ...broken, seq: event.seq } : event));
    const replay = all(new Replay({ view: emptyView() }), events);
    expect(replay.failures).toBe(1);
    expect(replay.hasQueued).toBe(false);
    expect(replay.view.status).toBe('interrupted');
  });

  it('applies as much at a time as it may', () => {
    const replay = new Replay({ view: emptyView() });
    for (const event of TOUR) replay.take(event);
    let left = 3;
    replay.drain(() => (left -= 1) > 0);
    expect([left, replay.hasQueued]).toEqual([0, true]);
  });
});
