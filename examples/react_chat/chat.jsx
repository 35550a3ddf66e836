// LangChain's React hook: `useStream` of @langchain/react.
import { useStream } from '@langchain/react';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { apiUrl, assistantId, decide, earlierThreads, openThread, rememberThread, threadAddress } from './server.js';

function Threads({ client }) {
  const [threads, setThreads] = useState([]);
  useEffect(() => void earlierThreads(client).then(setThreads), [client]);
  return <nav>{threads.map(({ id, title }) => <a key={id} href={threadAddress(id)}>{title}</a>)}</nav>;
}

function Approval({ interrupt, respond }) {
  const [action] = interrupt.value.action_requests;
  return (
    <section aria-label="Approval">
      <code>{action.name} {JSON.stringify(action.args)}</code>
      <button onClick={() => respond(decide.approve)}>Approve</button>
      <button onClick={() => respond(decide.reject)}>Reject</button>
    </section>
  );
}

function App() {
  const stream = useStream({ apiUrl, assistantId, threadId: openThread, onThreadId: rememberThread });
  const send = (event) => {
    event.preventDefault();
    const content = new FormData(event.target).get('message');
    event.target.reset();
    stream.submit({ messages: [{ type: 'human', content }] });
  };
  // After a reload the id is needed: the hook shows the question before it has read its event.
  const respond = (answer) => stream.respond(answer, { interruptId: stream.interrupt.id });
  return (
    <>
      <Threads client={stream.client} />
      {stream.messages.filter((message) => message.text && message.getType() !== 'tool').map((message) => (
        <p key={message.id} data-role={message.getType()}>{message.text}</p>
      ))}
      {stream.interrupt && <Approval interrupt={stream.interrupt} respond={respond} />}
      <form onSubmit={send}><input name="message" aria-label="Message" /></form>
    </>
  );
}

createRoot(document.getElementById('app')).render(<App />);
