export const changeText = {
  added: 'added: ',
  removed: 'removed: ',
} as const;
