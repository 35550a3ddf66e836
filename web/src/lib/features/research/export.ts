/** A finished report as a file: the server hands out only what the run wrote. */
import { refusalOf, type Api } from '$lib/protocol/api';

export async function getReport(api: Api, thread: string, format: string): Promise<void> {
  const response = await api.fetch(`/api/research/${thread}/report?format=${format}`, { method: 'GET' });
  if (!response.ok) throw await refusalOf(response);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = `report.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
