/** What went wrong with money, in words for the person. */
import { number } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';
import { sats } from '../sats';

export const errorText = inLanguage('features/wallet/core/errors.text:errorText', {
  refused: (detail: string) => `The mint rejected the request: ${detail}`,
  noAnswer: 'The mint did not respond. Nothing is lost: this continues automatically when it does.',
  notEnough: (has: number, needs: number) => `The wallet has ${sats(has)}, but this needs ${number(needs)}.`,
  words: 'These are not valid wallet words. Check each one.',
  done: 'This has already been done.',
  otherTab: 'These coins are being spent in another tab.',
  unit: 'This token is not in sats.',
  damagedToken: 'This token is damaged.',
  noToken: 'This is not a token from this mint. A token begins with “cashu”.',
  otherMint: (from: string, mint: string) => `This token is from ${from}; only e-cash from ${mint} can be used here.`,
  unknownLock: 'This token has an unsupported lock.',
  otherKey: 'This token is locked to a key that is not in this wallet.',
  otherLock: 'The server requires a lock that this wallet does not support.',
  lockTime: 'The server requires a lock that has expired or lasts too long.',
  noLock: 'E-cash can’t be sent without a lock.',
  fees: 'The mint’s fees are too high to pay with it.',
  foreign: 'This e-cash is not from the mint used here.',
  damagedBackup: 'The wallet in this backup is damaged. Nothing was imported.',
  amount: 'Enter a whole number of sats.',
  otherAmount: 'The mint’s invoice asks for a different amount. Do not pay it.',
  noInvoice: 'Invoice not found.',
  noBudget: 'The server did not accept the budget. It returns when its lock expires.',
  tooSmall: 'This token is worth less than the mint’s fee for redeeming it.',
  notAsked: 'The server is not asking for a payment.',
});
