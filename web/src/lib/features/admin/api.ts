/** Operations of all tenants, for administrators. Nothing here says what was said in a conversation. */
import type { Api } from '$lib/protocol/api';

export interface HealthWire {
  /** `ok` or the problem, by the name of the check. */
  checks: Record<string, string>;
  runs: { pending: number; running: number; dead: number };
  /** Whether people may come in with API keys. */
  has_keys: boolean;
}

export interface AdminRun {
  run_id: string;
  tenant: string;
  user: string;
  agent: string;
  status: string;
  attempts: number;
  created_at: string;
  error: string | null;
}

export interface UsageLine {
  key: string | null;
  runs: number;
  input_tokens: number;
  output_tokens: number;
  costs: Record<string, string>;
}

export interface Budget {
  tenant: string;
  /** Empty for the whole tenant. */
  user: string;
  unit: string;
  /** A decimal number. */
  amount: string;
}

export interface ApiKey {
  key_id: string;
  tenant: string;
  user: string;
  label: string;
  state: 'live' | 'expired' | 'revoked';
  last_used_at: string | null;
}

export interface AuditRow {
  seq: number;
  at: string;
  actor: string;
  action: string;
  tenant: string;
  user: string;
  subject: string;
}

export interface AuditWire {
  head: string;
  rows: AuditRow[];
}

export type RunFilter = 'all' | 'dead' | 'pending' | 'running' | 'error';
export type RunAction = 'cancel' | 'requeue' | 'replay';

export class AdminApi {
  constructor(private readonly api: Api) {}

  health(): Promise<HealthWire> {
    return this.api.send('GET', '/admin/health');
  }

  runs(filter: RunFilter, tenant: string): Promise<AdminRun[]> {
    const asked = new URLSearchParams();
    if (filter === 'dead') asked.set('is_dead', 'true');
    else if (filter !== 'all') asked.set('status', filter);
    if (tenant) asked.set('tenant', tenant);
    return this.api.send('GET', `/admin/runs?${asked}`);
  }

  act(run: AdminRun, action: RunAction): Promise<AdminRun> {
    return this.api.send('POST', `/admin/runs/${run.run_id}/${action}`);
  }

  usage(): Promise<{ lines: UsageLine[] }> {
    return this.api.send('GET', '/admin/usage');
  }

  budgets(): Promise<Budget[]> {
    return this.api.send('GET', '/admin/budgets');
  }

  setBudget(budget: Budget): Promise<Budget> {
    return this.api.send('PUT', '/admin/budgets', budget);
  }

  async removeBudget({ tenant, user, unit }: Budget): Promise<void> {
    await this.api.send('DELETE', `/admin/budgets?${new URLSearchParams({ tenant, user, unit })}`);
  }

  keys(): Promise<ApiKey[]> {
    return this.api.send('GET', '/admin/keys');
  }

  /** The secret is in this answer only. */
  createKey(tenant: string, user: string, label: string): Promise<ApiKey & { secret: string }> {
    return this.api.send('POST', '/admin/keys', { tenant, user, label });
  }

  async revokeKey(key: ApiKey): Promise<void> {
    await this.api.send('DELETE', `/admin/keys/${encodeURIComponent(key.key_id)}`);
  }

  audit(before?: number): Promise<AuditWire> {
    return this.api.send('GET', `/admin/audit${before === undefined ? '' : `?before=${before}`}`);
  }
}
