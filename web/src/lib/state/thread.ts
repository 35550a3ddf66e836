/** A conversation in the person's list. */
import type { Fields, ThreadWire } from '$lib/protocol/wire';

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
