/** A conversation in the person's list. */
import type { Fields, ThreadWire } from '$lib/protocol/wire';
import type { View } from '$lib/stream/view';

export interface Thread {
  id: string;
  title: string;
  agent: string | null;
  isPinned: boolean;
  /** The project that it is in. */
  project: string | null;
  status: ThreadWire['status'];
  updatedAt: Date;
  metadata: Fields;
}

/** What the server calls a conversation whose last run is in this state. */
export const THREAD_STATUS: Readonly<Record<View['status'], ThreadWire['status']>> = {
  running: 'busy',
  interrupted: 'interrupted',
  failed: 'error',
  idle: 'idle',
};
