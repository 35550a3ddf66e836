import { inLanguage } from '$lib/languages/texts';

export const helpText = inLanguage('components/help/text:helpText', {
  begin: 'Start a new conversation',
  search: 'Search conversations',
  write: 'Write a message',
  send: 'Send message',
  line: 'Insert a new line',
  stop: 'Stop the agent',
  sidebar: 'Show or hide conversations',
  panels: 'Show or hide panels',
  requests: 'Move between open requests',
  choose: 'Choose an answer to a question',
  help: 'Show this list',
});
