/** The server's till: where budgets are paid in, and refunds come from. See docs/payments.md. */
import { Refusal, type Api } from '$lib/protocol/api';

export interface Price {
  step: number;
  per_1k_input: number;
  per_1k_output: number;
  reserved_output: number;
}

/** What the operator says that a sat is worth, for people to read. */
export interface Rate {
  per_sat: number;
  currency: string;
}

export type Terms =
  | { enabled: false }
  | { enabled: true; mint: string; unit: string; topup: number; price: Price; rate?: Rate | null };

export interface SessionWire {
  thread_id: string;
  epoch: number;
  status: 'open' | 'closing' | 'closed';
  mint: string;
  refund_key: string;
  credited: number;
  spent: number;
  refunded: number;
  balance: number;
  request: string | null;
}

export interface RefundWire {
  refund_id: string;
  amount: number;
  token: string;
  status: 'ready' | 'delivered' | 'claimed';
}

/** What the server says of a token that it will never take. */
const NEVER = ['token_refused', 'token_already_used', 'no_payment_session'];

export const isRefused = (error: unknown): error is Refusal => error instanceof Refusal && NEVER.includes(error.code);

export class Till {
  constructor(private readonly api: Pick<Api, 'send'>) {}

  terms(): Promise<Terms> {
    return this.api.send('GET', '/payments');
  }

  open(threadId: string, key: string): Promise<SessionWire> {
    return this.api.send('POST', `/threads/${threadId}/payments`, { refund_key: key });
  }

  show(threadId: string): Promise<SessionWire> {
    return this.api.send('GET', `/threads/${threadId}/payments`);
  }

  async deposit(threadId: string, token: string): Promise<SessionWire> {
    const done = await this.api.send<{ session: SessionWire }>('POST', `/threads/${threadId}/payments/deposit`, { token });
    return done.session;
  }

  close(threadId: string): Promise<SessionWire> {
    return this.api.send('POST', `/threads/${threadId}/payments/close`);
  }

  refunds(threadId: string): Promise<{ is_settled: boolean; refunds: RefundWire[] }> {
    return this.api.send('GET', `/threads/${threadId}/payments/refunds`);
  }
}
