/** What the worker of search by meaning is asked, and what it tells. */
import type { Readable, Versions } from './library';

export type Call =
  | { kind: 'load' }
  | { kind: 'fit'; documents: readonly Readable[] }
  | { kind: 'search'; query: string; versions: Versions; most: number }
  | { kind: 'keepOnly'; ids: readonly string[] };

export interface WorkerRequest {
  id: number;
  call: Call;
}

export type News =
  | { kind: 'progress'; loaded: number; total: number }
  | { kind: 'left'; left: number }
  | { kind: 'answer'; id: number; result: unknown }
  | { kind: 'error'; id: number; message: string };
