/** What the server says of the MCP servers whose tools agents use. */
import type { Api } from '$lib/protocol/api';

export interface RemoteTool {
  name: string;
  description: string;
  needs_approval: boolean;
}

export interface McpServer {
  name: string;
  transport: 'stdio' | 'http';
  state: 'idle' | 'connecting' | 'ready' | 'failed';
  tools: RemoteTool[];
  left_out: number;
}

export function mcpServers(api: Api): Promise<McpServer[]> {
  return api.send('GET', '/mcp-servers');
}

/** Take back that a tool is always allowed in a conversation. */
export async function askAgain(api: Api, thread: string, tool: string): Promise<void> {
  await api.send('POST', `/threads/${thread}/state`, { values: { mcp_allowed: { [tool]: '' } } });
}

/** The tools that the person has allowed for the rest of a conversation. */
export function allowedTools(values: Record<string, unknown>): string[] {
  const allowed = values['mcp_allowed'];
  if (typeof allowed !== 'object' || allowed === null) return [];
  return Object.entries(allowed).flatMap(([name, fingerprint]) => (fingerprint ? [name] : []));
}
