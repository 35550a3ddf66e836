import { catalogueOf } from '../texts';

export default catalogueOf(import.meta.glob<Record<string, object>>('../../**/*text.es.ts', { eager: true }));
