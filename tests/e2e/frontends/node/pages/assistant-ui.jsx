// assistant-ui's primitives on its LangGraph runtime: @assistant-ui/react-langgraph.
import {
  AssistantRuntimeProvider, ComposerPrimitive, MessagePrimitive, ThreadListItemPrimitive, ThreadListPrimitive, ThreadPrimitive,
} from '@assistant-ui/react';
import {
  unstable_createLangGraphStream as createStream, useLangGraphInterruptState, useLangGraphRuntime, useLangGraphSend,
  useLangGraphSendCommand,
} from '@assistant-ui/react-langgraph';
import { Client } from '@langchain/langgraph-sdk';
import { useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { apiUrl, assistantId, decide, earlierThreads, openThread, rememberThread } from '../../../../../examples/react_chat/server.js';

const client = new Client({ apiUrl });
// By default a run is cancelled when its page goes away.
const start = createStream({ client, assistantId, onDisconnect: 'continue' });

/** A run of its own, or the run that was going on when the page was opened. */
async function stream(messages, config) {
  const running = config.runConfig?.running;
  if (!running) return start(messages, config);
  return client.runs.joinStream(openThread, running, { signal: config.abortSignal });
}

async function load(thread) {
  const { values, tasks } = await client.threads.getState(thread);
  return { messages: values.messages ?? [], interrupts: tasks.flatMap((task) => task.interrupts) };
}

const listed = ({ id, title }) => ({ status: 'regular', remoteId: id, externalId: id, title });
const unsupported = async () => {};
const threadList = {
  list: async () => ({ threads: (await earlierThreads(client)).map(listed) }),
  fetch: async (id) => listed({ id }),
  initialize: async () => {
    const { thread_id: id } = await client.threads.create();
    return { remoteId: id, externalId: id };
  },
  generateTitle: async () => new ReadableStream({ start: (controller) => controller.close() }),
  rename: unsupported, archive: unsupported, unarchive: unsupported, delete: unsupported,
};

/** Follow a run that the page was opened in the middle of. */
function FollowRun() {
  const send = useLangGraphSend();
  useEffect(() => {
    if (!openThread) return;
    client.runs.list(openThread, { status: 'running' }).then(([run]) => {
      if (run) send([], { runConfig: { running: run.run_id } });
    });
  }, []);
}

function Approval() {
  const interrupt = useLangGraphInterruptState();
  const command = useLangGraphSendCommand();
  const [action] = interrupt?.value.action_requests ?? [];
  return action && (
    <section aria-label="Approval">
      <code>{action.name} {JSON.stringify(action.args)}</code>
      <button onClick={() => command({ resume: decide.approve })}>Approve</button>
      <button onClick={() => command({ resume: decide.reject })}>Reject</button>
    </section>
  );
}

const Text = ({ text }) => text;
const Human = () => <MessagePrimitive.Root data-role="human"><MessagePrimitive.Parts components={{ Text }} /></MessagePrimitive.Root>;
const Agent = () => <MessagePrimitive.Root data-role="ai"><MessagePrimitive.Parts components={{ Text }} /></MessagePrimitive.Root>;
const ThreadTitle = () => (
  <ThreadListItemPrimitive.Root><ThreadListItemPrimitive.Trigger><ThreadListItemPrimitive.Title /></ThreadListItemPrimitive.Trigger></ThreadListItemPrimitive.Root>
);

function App() {
  const runtime = useLangGraphRuntime({
    stream, load, unstable_threadListAdapter: threadList, threadId: openThread, onThreadIdChange: rememberThread,
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <nav><ThreadListPrimitive.Items components={{ ThreadListItem: ThreadTitle }} /></nav>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages components={{ UserMessage: Human, AssistantMessage: Agent }} />
        <FollowRun />
        <Approval />
        <ComposerPrimitive.Root><ComposerPrimitive.Input aria-label="Message" /></ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.getElementById('app')).render(<App />);
