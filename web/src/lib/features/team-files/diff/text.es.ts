import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { diffText as english } from './text';

export const diffText: Translation<typeof english> = {
  label: (path) => `Cambios en ${path}`,
  counts: (added, removed) => `${plural(added, 'añadida', 'añadidas')}, ${plural(removed, 'eliminada', 'eliminadas')}`,
  cut: 'Solo se muestra el principio. El cambio afecta a todo el archivo.',
  next: (count, left) => {
    if (count !== left) return `Mostrar las ${count} líneas siguientes de ${left}`;
    return count === 1 ? 'Mostrar la última línea' : `Mostrar las últimas ${count} líneas`;
  },
  readOn: 'Muestra todo el cambio antes de aprobarlo.',
  none: 'El texto no ha cambiado.',
};
