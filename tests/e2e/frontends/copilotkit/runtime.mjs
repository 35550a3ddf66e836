// CopilotKit's runtime between its page and Bathysphere: node runtime.mjs API
import { createServer } from 'node:http';
import { LangGraphAgent } from '@copilotkit/runtime/langgraph';
import { CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';

const agents = { mailer: new LangGraphAgent({ deploymentUrl: process.argv[2], graphId: 'mailer' }) };
const runtime = new CopilotRuntime({ agents });
const server = createServer(createCopilotNodeListener({ runtime, basePath: '/api/copilotkit', cors: true }));
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/api/copilotkit`));
