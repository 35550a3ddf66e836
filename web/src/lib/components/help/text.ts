export const helpText = {
  begin: 'Begin a new conversation',
  search: 'Search conversations',
  write: 'Write a message',
  send: 'Send the message',
  line: 'New line in the message',
  stop: 'Stop the agent',
  sidebar: 'Show or hide conversations',
  panels: 'Show or hide panels',
  requests: 'Move between open requests',
  choose: 'Choose an option of a question',
  help: 'Show this list',
} as const;
