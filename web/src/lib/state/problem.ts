/** What went wrong, as the chat shows it. */
import { Refusal } from '$lib/protocol/api';
import { text } from '$lib/text';

export interface Problem {
  message: string;
  /** Gone by itself when the server answers again. */
  isOffline: boolean;
  retry: (() => void) | null;
}

export function problemOf(error: unknown, retry: (() => void) | null): Problem {
  const message = error instanceof Error ? error.message : text.errors.failed;
  return { message, isOffline: error instanceof Refusal && error.isOffline, retry };
}

/** The server's refusal of an answer; null where it was answered elsewhere. */
export function refusalOfAnswer(error: unknown): Refusal | null {
  const refusal = error instanceof Refusal ? error : new Refusal('failed', text.errors.failed, 400);
  return refusal.code === 'no_such_interrupt' ? null : refusal;
}
