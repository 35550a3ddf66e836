/** A finished report as a file: the server hands out only what the run wrote. */
import { refusalOf, type Api } from '$lib/protocol/api';

export async function getReport(api: Api, thread: string, format: string, report = ''): Promise<void> {
  const which = report ? `&report=${report}` : '';
  const response = await api.fetch(`/api/research/${thread}/report?format=${format}${which}`, { method: 'GET' });
  if (!response.ok) throw await refusalOf(response);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = fileNameOf(response.headers.get('Content-Disposition')) ?? `report.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The name that the server gives a file, which it takes from the question. */
export function fileNameOf(disposition: string | null): string | null {
  const encoded = /filename\*=UTF-8''([^;\s]+)/i.exec(disposition ?? '')?.[1];
  try {
    return encoded ? decodeURIComponent(encoded) : null;
  } catch {
    return null;
  }
}
