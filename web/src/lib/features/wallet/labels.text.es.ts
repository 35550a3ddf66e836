import type { Translation } from '$lib/languages/translation';
import type { labels as english } from './labels.text';

export const labels: Translation<typeof english> = { wallet: 'Monedero', exhausted: 'necesita una recarga para continuar' };
