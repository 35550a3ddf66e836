/** What the app and the page that draws diagrams (`public/diagram.html`) say to each other. */
import type { Settings } from './settings';

export interface Order {
  id: number;
  /** The source of Mermaid, with the first order. */
  program?: string;
  code?: string;
  settings?: Settings;
}

export interface Drawing {
  /** Of the order; 0 when the page is ready. */
  id: number;
  svg?: string;
  problem?: string;
}
