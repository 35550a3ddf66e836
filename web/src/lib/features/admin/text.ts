import type { RunAction, RunFilter } from './api';

export const text = {
  retry: 'Try again',
  refused: 'This page is for administrators.',
  tenant: 'Tenant',
  user: 'User',
  whole: 'Everybody',
  health: {
    title: 'Health',
    names: { process: 'Server', database: 'Database', migrations: 'Migrations', redis: 'Live events' } as Record<string, string>,
    ok: 'Working',
    waiting: 'Runs waiting',
    working: 'Runs in progress',
    dead: 'Runs given up',
  },
  runs: {
    title: 'Runs',
    hint: 'Newest first, without their contents.',
    none: 'No runs here.',
    show: 'Show',
    filters: {
      all: 'All',
      dead: 'Given up',
      pending: 'Waiting',
      running: 'Running',
      error: 'Failed',
    } satisfies Record<RunFilter, string>,
    agent: 'Agent',
    status: 'Status',
    created: 'Started',
    actions: 'Actions',
    act: { cancel: 'Cancel', requeue: 'Requeue', replay: 'Replay' } satisfies Record<RunAction, string>,
    actOn: (action: RunAction, who: string) => `${text.runs.act[action]} the run of ${who}`,
  },
  usage: {
    title: 'Usage',
    hint: 'Last 30 days.',
    none: 'Nothing was used.',
    runs: 'Runs',
    input: 'Input tokens',
    output: 'Output tokens',
    cost: 'Cost',
  },
  budgets: {
    title: 'Budgets',
    hint: 'Per calendar month, in tokens or a currency such as EUR; without a user, for the whole tenant. Once a budget is used up, no run can start until the month ends.',
    none: 'No budget was set.',
    amount: 'Amount',
    unit: 'Unit',
    unitHint: 'tokens',
    userHint: 'optional',
    set: 'Set budget',
    remove: 'Remove',
    removeOf: (who: string) => `Remove the budget of ${who}`,
  },
  keys: {
    title: 'API keys',
    none: 'There are no keys.',
    label: 'Label',
    state: 'State',
    states: { live: 'Valid', expired: 'Expired', revoked: 'Revoked' },
    used: 'Last used',
    never: 'Never',
    create: 'Create key',
    created: 'Copy this key now; it will not be shown again.',
    revoke: 'Revoke',
    revokeOf: (who: string) => `Revoke the key of ${who}`,
  },
  audit: {
    title: 'Audit log',
    hint: 'What administrators, operators and people did. Entries cannot be changed.',
    none: 'Nothing has been recorded.',
    time: 'Time',
    actor: 'Who',
    what: 'What',
    whose: 'Whose',
    more: 'Show older',
    head: 'Head of the chain',
    headHint: 'Publish it: it proves later that nothing before it was changed.',
    actions: {
      'key.created': 'Created a key',
      'key.revoked': 'Revoked a key',
      'budget.set': 'Set a budget',
      'budget.removed': 'Removed a budget',
      'run.cancelled': 'Cancelled a run',
      'run.requeued': 'Requeued a run',
      'run.replayed': 'Replayed a run',
      'person.exported': 'Exported a person’s data',
      'person.deleted': 'Deleted a person’s data',
      'share.created': 'Shared a conversation',
      'share.revoked': 'Revoked a shared link',
      'database.restored': 'Restored a backup',
    } as Record<string, string>,
  },
};

/** A moment, in the reader's own words and zone. */
export function moment(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

/** Who somebody is: a user of a tenant, or a whole tenant. */
export function who({ tenant, user }: { tenant: string; user: string }): string {
  return user ? `${user} (${tenant})` : tenant;
}
