import { number } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import { sats } from '../sats';
import type { errorText as english } from './errors.text';

export const errorText: Translation<typeof english> = {
  refused: (detail) => `El emisor ha rechazado la solicitud: ${detail}`,
  noAnswer: 'El emisor no ha respondido. No se ha perdido nada: esto continúa automáticamente en cuanto responda.',
  notEnough: (has, needs) => `En el monedero hay ${sats(has)}, pero hacen falta ${number(needs)}.`,
  words: 'Estas palabras no son de un monedero. Revisa cada una.',
  done: 'Esto ya se ha hecho.',
  otherTab: 'Estas monedas se están gastando en otra pestaña.',
  unit: 'Este token no está en sats.',
  damagedToken: 'Este token está dañado.',
  noToken: 'Esto no es un token de este emisor. Un token empieza por «cashu».',
  otherMint: (from, mint) => `Este token es de ${from}; aquí solo se puede usar efectivo de ${mint}.`,
  unknownLock: 'Este token tiene un tipo de bloqueo no admitido.',
  otherKey: 'Este token está bloqueado con una clave que no está en este monedero.',
  otherLock: 'El servidor exige un bloqueo que este monedero no admite.',
  lockTime: 'El servidor exige un bloqueo que ha caducado o dura demasiado.',
  noLock: 'No se puede enviar efectivo sin bloqueo.',
  fees: 'Las comisiones del emisor son demasiado altas para pagar con él.',
  foreign: 'Este efectivo no es del emisor que se usa aquí.',
  damagedBackup: 'El monedero de esta copia está dañado. No se ha importado nada.',
  amount: 'Introduce un número entero de sats.',
  otherAmount: 'La factura del emisor pide otro importe. No la pagues.',
  noInvoice: 'No se ha encontrado la factura.',
  noBudget: 'El servidor no ha aceptado el presupuesto. Vuelve cuando caduque el bloqueo.',
  tooSmall: 'Este token vale menos que la comisión del emisor por canjearlo.',
  notAsked: 'El servidor no pide ningún pago.',
};
