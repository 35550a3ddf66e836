/** Every English sentence of the workspace itself. A feature folder keeps its own in `text.ts`. */
const plural = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

export const text = {
  name: 'Bathysphere',
  skip: 'Skip to the conversation',
  errors: {
    offline: 'The server cannot be reached. Check that it runs; your words are kept, send them again.',
    status: (status: number) => `The server answered with ${status}.`,
    failed: 'The run failed.',
    failedHint: 'Nothing you wrote is lost. Try again, or change your message and send it.',
    lost: 'The connection was lost. Trying again…',
    unauthenticated: 'This server asks for an access key.',
    retry: 'Try again',
    dismiss: 'Dismiss',
    loading: 'This part could not be loaded. Reload the page.',
  },
  shell: {
    threads: 'Conversations',
    panels: 'What the agent does',
    openSidebar: 'Show conversations',
    closeSidebar: 'Hide conversations',
    openPanels: 'Show panels',
    closePanels: 'Hide panels',
    menu: 'Menu',
    chat: 'Chat',
    more: 'More',
    back: 'Back to the conversation',
    resize: 'Width of the panels',
  },
  theme: { light: 'Light', dark: 'Dark', system: 'As the system', label: 'Colours' },
  plurals: plural,
} as const;
