// CopilotKit's headless hooks; its runtime runs the agent with LangGraphAgent.
import { CopilotKitProvider, useAgent, useCopilotKit, useInterrupt } from '@copilotkit/react-core/v2';
import { Client } from '@langchain/langgraph-sdk';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { apiUrl, assistantId, decide, earlierThreads, openThread, rememberThread, threadAddress } from '../../../../examples/react_chat/server.js';

const runtimeUrl = new URL(location.href).searchParams.get('runtime');
const client = new Client({ apiUrl });
const threadId = openThread ?? crypto.randomUUID();
const agentId = 'chat';
const SHOWN = { user: 'human', assistant: 'ai' };
const ROLES = { human: 'user', ai: 'assistant' };

/** The thread as Bathysphere has it; the runtime forgets what it has streamed when it is started again. */
async function storedMessages() {
  const { values } = await client.threads.getState(threadId);
  return values.messages.filter(({ type }) => ROLES[type]).map(({ id, type, content }) => ({ id, content, role: ROLES[type] }));
}

function Threads() {
  const [threads, setThreads] = useState([]);
  useEffect(() => void earlierThreads(client).then(setThreads), []);
  const address = (id) => `${threadAddress(id)}&${new URLSearchParams({ runtime: runtimeUrl })}`;
  return <nav>{threads.map(({ id, title }) => <a key={id} href={address(id)}>{title}</a>)}</nav>;
}

function Approval({ value, resolve }) {
  const [action] = (typeof value === 'string' ? JSON.parse(value) : value).action_requests;
  return (
    <section aria-label="Approval">
      <code>{action.name} {JSON.stringify(action.args)}</code>
      <button onClick={() => resolve(decide.approve)}>Approve</button>
      <button onClick={() => resolve(decide.reject)}>Reject</button>
    </section>
  );
}

function Chat() {
  const { agent, isReady } = useAgent({ agentId, runtimeAgentId: assistantId, threadId });
  const { copilotkit } = useCopilotKit();
  const approval = useInterrupt({
    agentId, renderInChat: false, render: ({ event, resolve }) => <Approval value={event.value} resolve={resolve} />,
  });
  useEffect(() => {
    if (!isReady || !openThread) return;
    copilotkit.connectAgent({ agent }).then(async () => {
      if (agent.messages.length === 0) agent.setMessages(await storedMessages());
    });
  }, [agent, isReady, copilotkit]);
  const send = (event) => {
    event.preventDefault();
    const content = new FormData(event.target).get('message');
    event.target.reset();
    rememberThread(threadId);
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
    copilotkit.runAgent({ agent });
  };
  return (
    <>
      <Threads />
      {agent.messages.filter(({ role, content }) => SHOWN[role] && content).map(({ id, role, content }) => (
        <p key={id} data-role={SHOWN[role]}>{content}</p>
      ))}
      {approval}
      {/* As in CopilotKit's own chat: the runtime refuses a message while a run is going on. */}
      <form onSubmit={send}><input name="message" aria-label="Message" disabled={!isReady || agent.isRunning} /></form>
    </>
  );
}

createRoot(document.getElementById('app')).render(<CopilotKitProvider runtimeUrl={runtimeUrl}><Chat /></CopilotKitProvider>);
