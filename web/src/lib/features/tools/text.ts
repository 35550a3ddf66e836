import { plural } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';

export const text = inLanguage('features/tools/text:text', {
  label: 'Tools',
  hint: 'Agents can use tools of these MCP servers. Your operator chooses the servers.',
  none: 'No MCP servers are set up here.',
  loading: 'Connecting to the servers…',
  refresh: 'Refresh',
  states: { ready: 'Connected', connecting: 'Connecting', failed: 'Not reachable', idle: 'Not connected' },
  count: (count: number) => plural(count, 'tool', 'tools'),
  leftOut: (count: number) => `${plural(count, 'tool', 'tools')} left out: too large`,
  asks: 'Asks first',
  reads: 'Reads only',
  allowed: 'Always allowed in this conversation',
  askAgain: 'Ask again',
  askAgainLabel: (name: string) => `Ask again before ${name}`,
  revoked: (name: string) => `${name} needs your approval again.`,
});
