import { expect, it } from 'vitest';
import { highlight } from './highlight';
import { tokenizerOf } from './languages';
import { paint } from './paint';

const here = () => false;

async function painted(code: string, language: string): Promise<HTMLElement> {
  const place = document.createElement('code');
  await highlight(place, code, language, here);
  return place;
}

const kindsOf = (place: HTMLElement) => [...place.querySelectorAll('.tok')].map((span) => `${span.className.slice(4)}: ${span.textContent}`);

it.each([
  ['python', 'def f(x):  # why\n    return "a" + 1', ['keyword: def', 'function: f', 'comment: # why', 'keyword: return', 'string: "a"', 'number: 1']],
  ['ts', 'const a: Foo = true;', ['keyword: const', 'type: Foo', 'number: true']],
  ['bash', 'echo "hi" # why', ['function: echo', 'string: "hi"', 'comment: # why']],
  ['sql', "SELECT 1 FROM t -- why", ['keyword: SELECT', 'number: 1', 'keyword: FROM', 'comment: -- why']],
  ['diff', '+ new\n- old', ['inserted: + new', 'deleted: - old']],
  ['json', '{"a": null}', ['property: "a"', 'number: null']],
])('colours %s', async (language, code, kinds) => {
  const place = await painted(code, language);
  expect(kindsOf(place)).toEqual(kinds);
  expect(place.textContent).toBe(code);
});

it('shows markup in code as the text it is', async () => {
  const code = '<img src=x onerror="alert(1)"><script>alert(1)</script>';
  for (const language of ['html', 'js', 'bash', 'nonsense', 'constructor']) {
    const place = await painted(code, language);
    expect(place.textContent).toBe(code);
    expect(place.querySelector('img, script')).toBeNull();
  }
});

it.each(['', 'mermaid', '__proto__', 'toString'])('knows no language %j', async (language) => {
  expect(await tokenizerOf(language)).toBeNull();
});

it('loses no letter of any language, however the code is broken', async () => {
  const code = 'def f( {{{ "open \\ <!-- /* \n\n\t`${a}` \'\'\' # $( @ %\r\n'.repeat(20);
  const names = 'bash c cs css dart diff docker go hs html ini java js json julia kt tex lua ps1 py r rb rs scala sql swift toml ts tsx xml yaml';
  for (const language of names.split(' ')) expect((await painted(code, language)).textContent, language).toBe(code);
});

it('keeps what was drawn when code grows', async () => {
  const place = await painted('let a = 1;', 'js');
  const first = place.firstChild;
  await highlight(place, 'let a = 1;\nlet b', 'js', here);
  expect(place.firstChild).toBe(first);
  expect(place.textContent).toBe('let a = 1;\nlet b');
});

it('gives a long text no colours, and a long line none in a mode', async () => {
  expect(kindsOf(await painted('let a = 1;\n'.repeat(5000), 'js'))).toEqual([]);
  expect(kindsOf(await painted(`echo "${'a'.repeat(3000)}"`, 'sh'))).toEqual([]);
});

it('draws nothing into a place that is gone', async () => {
  const place = document.createElement('code');
  const leave = paint('let a', 'js')(place);
  leave();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([place.textContent, place.children.length]).toEqual(['let a', 0]);
});
