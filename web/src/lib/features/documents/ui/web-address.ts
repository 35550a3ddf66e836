/** The address of a web page as a person types it; null for anything else. */
export function webAddress(typed: string): URL | null {
  const words = typed.trim();
  const hasScheme = /^[a-z][a-z0-9+.-]*:(?!\d)/i.test(words);
  const address = hasScheme ? words : `https://${words}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  const isWeb = url !== null && /^https?:$/.test(url.protocol) && /^[^\s.]+(\.[^\s.]+)+$|^localhost$|^\[/.test(url.hostname);
  return isWeb ? url : null;
}
