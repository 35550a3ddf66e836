import { describe, expect, it } from 'vitest';
import { newMessage, type Call, type CallStatus, type Message } from '$lib/stream/view';
import { newCall } from '$lib/stream/view-updates';
import { groupCalls } from './call-groups';

type Told = [shows: string | Partial<Message>, ...calls: string[]];

/** Messages with their words, or what else they show, and calls as `tool status`. */
function turn(...messages: Told[]) {
  const calls: Record<string, Call> = {};
  const list = messages.map(([shows, ...tools], at): Message => {
    for (const [index, tool] of tools.entries()) {
      const [name = '', status = 'done'] = tool.split(' ');
      const call = newCall(`m${at}`, `c${index}`, { name, status: status as CallStatus });
      calls[call.key] = call;
    }
    const own = typeof shows === 'string' ? { text: shows } : shows;
    return newMessage(`m${at}`, 'ai', { ...own, calls: tools.map((_, index) => `m${at} c${index}`) });
  });
  return { list, calls };
}

/** Per message the groups that begin in it: a fold as [tools], another call as its name. */
function shown(messages: Told[], { isHeld = false, noted = '', decided = '' } = {}) {
  const { list, calls } = turn(...messages);
  const groups = groupCalls(list, calls, { isHeld, hasNote: (id) => id === noted, isDecided: ({ name }) => name === decided });
  return list.map(({ id }) =>
    groups.get(id)!.map((group) => (group.isFolded ? group.calls.map(({ name }) => name) : group.calls[0]!.name)),
  );
}

describe('the calls of a turn', () => {
  it('are one group as long as nothing is said between them', () => {
    expect(shown([['Let me see.', 'ls', 'grep'], ['', 'read_file'], ['Found it.', 'write_file']])).toEqual([
      [['ls', 'grep', 'read_file']],
      [],
      [['write_file']],
    ]);
  });

  it('are two groups where anything else is shown between them', () => {
    const apart = [[['ls']], [['grep']]];
    for (const shows of ['So.', { reasoning: 'Hm.' }, { isCut: true }]) expect(shown([['', 'ls'], [shows, 'grep']])).toEqual(apart);
    expect(shown([['', 'ls'], ['', 'grep']], { noted: 'm1' })).toEqual(apart);
    expect(shown([['', 'ls'], ['\n\n', 'grep']])).toEqual([[['ls', 'grep']], []]);
  });

  it('stand alone where they failed, ended early, ask or send out a subagent', () => {
    for (const alone of ['grep failed', 'grep stopped', 'grep aside', 'task', 'task running', 'ask_user', 'ask_choices']) {
      expect(shown([['', 'ls', alone, 'read_file'], ['', 'ls']])).toEqual([[['ls'], alone.split(' ')[0], ['read_file', 'ls']], []]);
    }
  });

  it('stand alone while they wait for the person, not while they wait for their turn', () => {
    expect(shown([['', 'ls', 'edit_file waiting']], { isHeld: true })).toEqual([[['ls'], 'edit_file']]);
    expect(shown([['', 'ls', 'edit_file waiting']])).toEqual([[['ls', 'edit_file']]]);
  });

  it('leave out what is told elsewhere', () => {
    expect(shown([['', 'ls', 'choose_move', 'grep']])).toEqual([[['ls', 'grep']]]);
  });

  it('leave a call in sight that the person decided about', () => {
    const decided = 'edit_file';
    expect(shown([['', 'ls', 'edit_file', 'grep']], { decided })).toEqual([[['ls'], 'edit_file', ['grep']]]);
  });
});
