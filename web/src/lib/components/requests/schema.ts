/** A form for an answer, read from the JSON schema that the server checks the answer against. */
import type { Fields, Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';

export type FieldKind = 'text' | 'long' | 'number' | 'whole' | 'yesno' | 'choice' | 'choices' | 'list' | 'json';

export interface FormField {
  name: string;
  label: string;
  help: string;
  kind: FieldKind;
  options: string[];
  isRequired: boolean;
  initial: Json;
}

const LONG = 200;

/** The fields of an object; null when the schema is not a plain object. */
export function fieldsOf(schema: Fields | null): FormField[] | null {
  const whole = resolve(schema ?? {}, schema ?? {});
  if (!isFields(whole['properties'])) return null;
  const required = Array.isArray(whole['required']) ? whole['required'] : [];
  return Object.entries(whole['properties']).map(([name, raw]) => {
    const field = resolve(isFields(raw) ? raw : {}, schema ?? {});
    return {
      name,
      label: String(field['title'] ?? name).replace(/_/g, ' '),
      help: typeof field['description'] === 'string' ? field['description'] : '',
      ...kindOf(field, schema ?? {}),
      isRequired: required.includes(name),
      initial: initialOf(field),
    };
  });
}

/** The kinds of decision a schema allows, such as approve, edit, reject. */
export function decisionsOf(schema: Fields | null): string[] {
  return branchesOf(schema).flatMap((whole) => {
    const type = isFields(whole['properties']) ? whole['properties']['type'] : null;
    if (!isFields(type)) return [];
    if (typeof type['const'] === 'string') return [type['const']];
    return Array.isArray(type['enum']) ? type['enum'].filter((value) => typeof value === 'string') : [];
  });
}

/** Whether an approval can hold for the rest of the conversation. */
export function mayAlways(schema: Fields | null): boolean {
  return hasField(schema, 'always');
}

/** Whether an approval can trust sources for the rest of the conversation. */
export function mayTrust(schema: Fields | null): boolean {
  return hasField(schema, 'trust');
}

function hasField(schema: Fields | null, name: string): boolean {
  return branchesOf(schema).some((branch) => isFields(branch['properties']) && name in branch['properties']);
}

function branchesOf(schema: Fields | null): Fields[] {
  if (!schema) return [];
  const branches = [schema['oneOf'], schema['anyOf']].find(Array.isArray) ?? [schema];
  return (branches as Json[]).map((branch) => resolve(isFields(branch) ? branch : {}, schema));
}

/** What was typed, as the schema wants it; throws with a sentence where it does not fit. */
export function readField(field: FormField, value: Json): Json {
  if (field.kind === 'number' || field.kind === 'whole') {
    const number = Number(value);
    if (value === '' || Number.isNaN(number)) throw new Error(field.label);
    return field.kind === 'whole' ? Math.round(number) : number;
  }
  if (field.kind === 'list') {
    return String(value).split('\n').map((line) => line.trim()).filter(Boolean);
  }
  return field.kind === 'json' ? (JSON.parse(String(value)) as Json) : value;
}

function resolve(schema: Fields, root: Fields): Fields {
  const reference = schema['$ref'];
  if (typeof reference === 'string' && reference.startsWith('#/')) {
    const target = reference
      .slice(2)
      .split('/')
      .reduce<Json>((place, part) => (isFields(place) ? (place[part] ?? null) : null), root);
    return isFields(target) ? resolve({ ...target, ...without(schema, '$ref') }, root) : schema;
  }
  // `X | None` is how an optional field is written.
  const options = Array.isArray(schema['anyOf']) ? schema['anyOf'].filter(isFields) : [];
  const real = options.filter((option) => option['type'] !== 'null');
  if (options.length && real.length === 1) return resolve({ ...without(schema, 'anyOf'), ...real[0] }, root);
  return schema;
}

function without(schema: Fields, key: string): Fields {
  const { [key]: _, ...rest } = schema;
  return rest;
}

function kindOf(field: Fields, root: Fields): { kind: FieldKind; options: string[] } {
  const options = textsOf(field['enum']);
  if (options.length) return { kind: 'choice', options };
  if (field['type'] === 'array') {
    const items = resolve(isFields(field['items']) ? field['items'] : {}, root);
    const choices = textsOf(items['enum']);
    if (choices.length) return { kind: 'choices', options: choices };
    return { kind: items['type'] === 'string' ? 'list' : 'json', options: [] };
  }
  const kinds: Record<string, FieldKind> = { boolean: 'yesno', number: 'number', integer: 'whole', string: 'text' };
  const kind = kinds[String(field['type'])] ?? 'json';
  const length = typeof field['maxLength'] === 'number' ? field['maxLength'] : 0;
  return { kind: kind === 'text' && length > LONG ? 'long' : kind, options: [] };
}

function initialOf(field: Fields): Json {
  if (field['default'] !== undefined) return field['default'];
  if (field['const'] !== undefined) return field['const'];
  if (field['type'] === 'boolean') return false;
  return field['type'] === 'array' && isFields(field['items']) && field['items']['enum'] ? [] : '';
}

function textsOf(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((option): option is string => typeof option === 'string') : [];
}
