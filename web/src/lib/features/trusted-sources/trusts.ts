/** The sources that the person trusts in a conversation, from its state, and how trust is taken back. */
import { reveal } from '$lib/invisible';
import type { Api } from '$lib/protocol/api';
import { isFields } from '$lib/protocol/fields';
import type { ValuesWire } from '$lib/protocol/wire';

export interface TrustedSource {
  id: string;
  name: string;
}

/** Trusts are in the ledger of flow control; what was taken back is there or on its way to it. */
export function trustedSources(values: ValuesWire, { withRevoked = false } = {}): TrustedSource[] {
  const ledger = fieldsOf(values['flow']);
  const revoked = { ...fieldsOf(ledger['revoked']), ...fieldsOf(values['flow_revoked']) };
  return Object.entries(fieldsOf(ledger['trusts'])).flatMap(([id, trust]) => {
    const name = typeof trust === 'string' ? nameIn(trust) : null;
    return name === null || (!withRevoked && Object.hasOwn(revoked, id)) ? [] : [{ id, name }];
  });
}

/** A client can only take trust back: nothing that it writes gives any. */
export async function stopTrusting(api: Api, thread: string, id: string): Promise<void> {
  await api.send('POST', `/threads/${thread}/state`, { values: { flow_revoked: { [id]: true } } });
}

function nameIn(trust: string): string | null {
  const fields: unknown = JSON.parse(trust);
  const name = fieldsOf(fields)['name'];
  return typeof name === 'string' ? reveal(name) : null;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return isFields(value) ? value : {};
}
