import { number } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import { sats } from '../sats';
import type { errorText as english } from './errors.text';

export const errorText: Translation<typeof english> = {
  refused: (detail) => `Die Mint hat die Anfrage abgelehnt: ${detail}`,
  noAnswer: 'Die Mint hat nicht geantwortet. Nichts ist verloren: Es geht von selbst weiter, sobald sie antwortet.',
  notEnough: (has, needs) => `In der Wallet sind ${sats(has)}, nötig sind ${number(needs)}.`,
  words: 'Diese Wörter gehören zu keiner Wallet. Prüfe jedes einzelne.',
  done: 'Das ist bereits geschehen.',
  otherTab: 'Diese Münzen werden gerade in einem anderen Tab ausgegeben.',
  unit: 'Dieser Token lautet nicht auf Sats.',
  damagedToken: 'Dieser Token ist beschädigt.',
  noToken: 'Das ist kein Token dieser Mint. Ein Token beginnt mit „cashu“.',
  otherMint: (from, mint) => `Dieser Token stammt von ${from}; hier kann nur E-Cash von ${mint} verwendet werden.`,
  unknownLock: 'Dieser Token ist auf eine Weise gesperrt, die nicht unterstützt wird.',
  otherKey: 'Dieser Token ist an einen Schlüssel gebunden, der nicht in dieser Wallet ist.',
  otherLock: 'Der Server verlangt eine Bindung, die diese Wallet nicht unterstützt.',
  lockTime: 'Der Server verlangt eine Bindung, die abgelaufen ist oder zu lange dauert.',
  noLock: 'E-Cash kann nicht ohne Bindung gesendet werden.',
  fees: 'Die Gebühren der Mint sind zu hoch, um damit zu bezahlen.',
  foreign: 'Dieses E-Cash stammt nicht von der Mint, die hier verwendet wird.',
  damagedBackup: 'Die Wallet in diesem Backup ist beschädigt. Es wurde nichts importiert.',
  amount: 'Gib eine ganze Zahl von Sats ein.',
  otherAmount: 'Die Rechnung der Mint verlangt einen anderen Betrag. Bezahle sie nicht.',
  noInvoice: 'Diese Rechnung wurde nicht gefunden.',
  noBudget: 'Der Server hat das Budget nicht angenommen. Es kommt zurück, wenn die Bindung abläuft.',
  tooSmall: 'Dieser Token ist weniger wert, als die Mint für das Einlösen berechnet.',
  notAsked: 'Der Server verlangt keine Zahlung.',
};
